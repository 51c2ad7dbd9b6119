import assert from 'node:assert/strict';

/** A function that parses untrusted bytes. */
export interface Target {
  /** Name of the target and of its folder in `corpus`. */
  readonly name: string;
  /**
   * Parses the input and checks the invariants of the outcome. A rejection is an outcome; any other exception is a
   * finding.
   *
   * @returns the outcome, which must be the same for the same bytes.
   */
  run(bytes: Uint8Array): unknown;
  /** Significant words for mutations. */
  readonly words: readonly string[];
  /** Seed inputs. */
  readonly seeds: readonly string[];
  /** Whether each run recovers a signature, which reduces the expected number of runs. */
  readonly slow?: boolean;
}

/** Tokens of JSON. */
export const JSON_MARKS = ['{', '}', '[', ']', ':', ',', '"', 'null'] as const;

/** Decodes bytes as UTF-8 with replacement characters. */
export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

type Kind<E> = abstract new (...args: never[]) => E;

/** Returns the outcome or a rejection of the declared kind. Throws any other error. */
export function rejecting<T, E extends Error>(kind: Kind<E>, read: () => T): T | E {
  try {
    return read();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
}

/** Checks whether a value is a rejection. Its message must be one line without `undefined`. */
export function isRejection(outcome: unknown): outcome is Error {
  if (!(outcome instanceof Error)) return false;
  assert.match(outcome.message, /\S/);
  assert.doesNotMatch(outcome.message, /\bundefined\b|\[object|NaN/);
  return true;
}
