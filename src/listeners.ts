/** Calls a listener of the host. What it throws, or the reason of its promise, is passed to `onFailure`. */
export function callListener<T>(
  listener: (payload: T) => unknown,
  payload: T,
  onFailure: (failure: unknown) => void,
): void {
  try {
    const result = listener(payload);
    if (result instanceof Promise) result.catch(onFailure);
  } catch (failure) {
    onFailure(failure);
  }
}

/**
 * Creates a function that passes failures to a handler of the host. An error of the handler is dropped.
 *
 * @throws TypeError for a handler that is no function.
 */
export function createFailureReporter(handler: ((failure: unknown) => void) | undefined): (failure: unknown) => void {
  if (handler === undefined) return () => {};
  if (typeof handler !== 'function') throw new TypeError(`onFailure must be a function, got ${typeof handler}`);
  // An error of the handler has no further receiver.
  return (failure) => callListener(handler, failure, () => {});
}

/** The listeners of an observation. Nothing is measured while there are none. */
export interface Observer<T> {
  hasListeners(): boolean;
  notify(observation: T): void;
}
