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
