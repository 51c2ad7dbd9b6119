import type { Clock } from '../ports/clock.ts';
import { onAbort } from './abort.ts';

/** Waits for a number of milliseconds, or until `stop` is aborted. */
export function sleep(clock: Clock, ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      remove();
      cancel();
      resolve();
    };
    const cancel = clock.after(ms, done);
    const remove = onAbort(stop, done);
    if (stop.aborted) done();
  });
}
