import type { Clock } from '../ports/clock.ts';

/** Waits for a number of milliseconds, or until `stop` is aborted. */
export function sleep(clock: Clock, ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stop.removeEventListener('abort', done);
      cancel();
      resolve();
    };
    const cancel = clock.after(ms, done);
    stop.addEventListener('abort', done);
    if (stop.aborted) done();
  });
}
