import assert from 'node:assert/strict';

/** Something that reads bytes from strangers. */
export interface Target {
  /** Also the name of its folder in `corpus`. */
  readonly name: string;
  /**
   * Reads, and checks what must hold of the outcome. A rejection is an outcome; whatever is thrown is a finding.
   *
   * @returns what came of it, which must be the same for the same bytes.
   */
  run(bytes: Uint8Array): unknown;
  /** Words that mean something to it, to mutate with. */
  readonly words: readonly string[];
  /** Inputs to begin with. */
  readonly seeds: readonly string[];
  /** Whether each run costs a signature's recovery, so that fewer are expected. */
  readonly slow?: boolean;
}

/** What JSON is made of. */
export const JSON_MARKS = ['{', '}', '[', ']', ':', ',', '"', 'null'] as const;

/** Strangers' bytes as text: of UTF-8 what is, and a sign of replacement for what is not. */
export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

type Kind<E> = abstract new (...args: never[]) => E;

/** The outcome, or the rejection of the declared kind as one. Anything else that is thrown goes on. */
export function rejecting<T, E extends Error>(kind: Kind<E>, read: () => T): T | E {
  try {
    return read();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
}

/** Whether it is a rejection, which must then have words for people: one line, no `undefined`. */
export function isRejection(outcome: unknown): outcome is Error {
  if (!(outcome instanceof Error)) return false;
  assert.match(outcome.message, /\S/);
  assert.doesNotMatch(outcome.message, /\bundefined\b|\[object|NaN/);
  return true;
}
