/**
 * Calls `task` when a promise has settled, and settles as the promise. JavaScript runtimes settle the result of
 * `Promise.prototype.finally` after different numbers of microtasks, so the traces of a simulation would differ.
 */
export async function thenAlways<T>(promise: Promise<T>, task: () => void): Promise<T> {
  try {
    return await promise;
  } finally {
    task();
  }
}
