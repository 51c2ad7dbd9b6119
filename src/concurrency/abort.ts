/**
 * State that shows whether a result is still needed. `AbortSignal` and `ApiRequest` implement it; `ApiRequest` is
 * cheaper to read.
 */
export interface AbortState {
  readonly aborted?: boolean | undefined;
}

/** Thrown when work is skipped because its result is no longer needed. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError';

  constructor() {
    super('the caller no longer needs the result');
  }
}

/**
 * Throws if the result is no longer needed: the reason of an `AbortSignal`, otherwise an `AbortedError`. Called before
 * each part of long work.
 */
export function assertNotAborted(state: AbortState | undefined): void {
  if (!state?.aborted) return;
  throw state instanceof AbortSignal ? state.reason : new AbortedError();
}

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls a function when a signal is aborted. The functions of one signal share a listener: Node.js prints a warning for
 * more than ten.
 *
 * @returns A function that removes it.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  let calls = waiting.get(signal);
  if (calls === undefined) {
    const added = new Set<() => void>();
    calls = added;
    waiting.set(signal, added);
    const callAll = () => {
      waiting.delete(signal);
      for (const each of added) each();
    };
    signal.addEventListener('abort', callAll, { once: true });
  }
  const own = () => call(); // the same function may be added twice
  calls.add(own);
  return () => void calls.delete(own);
}

/** Counts the rows that a read takes from the store, for the rate limit. */
export interface RowMeter {
  rows: number;
}

/** Options of a read. */
export interface ReadOptions {
  /** Ends the read between two steps when the result is no longer needed. */
  readonly signal?: AbortState;
  /** Receives the number of rows that were read, including skipped ones. */
  readonly meter?: RowMeter;
}

/** Adds rows to the meter of a read. */
export function countRows({ meter }: ReadOptions, rows: number): void {
  if (meter !== undefined) meter.rows += rows;
}
