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

/** Creates a function that passes failures to a handler of the host. An error of the handler is dropped. */
export function createFailureReporter(handler: ((failure: unknown) => void) | undefined): (failure: unknown) => void {
  return (failure) => {
    // An error of the handler has no further receiver.
    if (handler !== undefined) callListener(handler, failure, () => {});
  };
}

/** The listeners of an observation. Nothing is measured while there are none. */
export interface Observer<T> {
  hasListeners(): boolean;
  notify(observation: T): void;
}
