/** Creates a function that passes failures to a handler of the host. An error of the handler is dropped. */
export function createFailureReporter(handler: ((failure: unknown) => void) | undefined): (failure: unknown) => void {
  return (failure) => {
    try {
      const result: unknown = handler?.(failure);
      if (result instanceof Promise) result.catch(() => {});
    } catch {
      // An error of the handler has no further receiver.
    }
  };
}
