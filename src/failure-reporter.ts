/** Creates a function that passes failures to a handler of the host. An error that the handler throws is dropped. */
export function createFailureReporter(handler: ((failure: unknown) => void) | undefined): (failure: unknown) => void {
  return (failure) => {
    try {
      handler?.(failure);
    } catch {
      // An error of the handler has no further receiver.
    }
  };
}
