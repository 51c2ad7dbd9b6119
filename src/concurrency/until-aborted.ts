import { onAbort } from './abort.ts';

/**
 * Returns the result of a call whose receiver may not respond.
 *
 * @throws The reason of the signal, if it is aborted before the result.
 */
export function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    result.then(resolve, reject).finally(onAbort(signal, abort));
    if (signal.aborted) abort();
  });
}
