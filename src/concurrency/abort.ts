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

interface SharedListener {
  readonly calls: Set<() => void>;
  readonly remove: () => void;
}

const shared = new WeakMap<AbortSignal, SharedListener>();

/**
 * Calls a function when a signal is aborted. The functions of one signal share a listener: Node.js prints a warning for
 * more than ten.
 *
 * @returns A function that removes it.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  const listener = shared.get(signal) ?? listen(signal);
  const own = () => call(); // the same function may be added twice
  listener.calls.add(own);
  return () => {
    if (listener.calls.delete(own) && listener.calls.size === 0 && !signal.aborted) listener.remove();
  };
}

function listen(signal: AbortSignal): SharedListener {
  const calls = new Set<() => void>();
  const callAll = () => {
    shared.delete(signal);
    for (const each of calls) each();
  };
  const remove = () => {
    shared.delete(signal);
    signal.removeEventListener('abort', callAll);
  };
  const listener = { calls, remove };
  shared.set(signal, listener);
  signal.addEventListener('abort', callAll, { once: true });
  return listener;
}

/** Counts the rows that a read takes from the store, for the rate limit. */
export interface RowMeter {
  rows: number;
}

export interface ReadOptions {
  /** Ends the read between two steps when the result is no longer needed. */
  readonly signal?: AbortState;
  /** Receives the number of rows that were read, including skipped ones. */
  readonly meter?: RowMeter;
  /** Returns the client that waits for the read. Clients take turns in queues. Default: the process itself. */
  readonly client?: () => string;
}

/** Adds rows to the meter of a read. */
export function countRows({ meter }: ReadOptions, rows: number): void {
  if (meter !== undefined) meter.rows += rows;
}
