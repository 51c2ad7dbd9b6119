import type { Observer } from '../../listeners.ts';
import { type Clock, readMonotonic } from '../../ports/clock.ts';
import type { DriverContext, SolverDriver } from './solver-driver.ts';

/** A finished call of a driver. */
export interface DriverObservation {
  readonly driver: string;
  /** A call of `settle` is a win, which is settled unless it has failed. */
  readonly step: 'solve' | 'reveal' | 'settle' | 'notify';
  /** Duration in milliseconds. */
  readonly ms: number;
  /** Whether it threw or was aborted, such as by its deadline. */
  readonly failed: boolean;
}

/** Wraps a driver and reports each of its calls. */
export function observedDriver(
  driver: SolverDriver,
  clock: Clock,
  observer: Observer<DriverObservation>,
): SolverDriver {
  function observe<Request, Result>(
    step: DriverObservation['step'],
    call: (request: Request, context: DriverContext) => Promise<Result>,
  ) {
    return async (request: Request, context: DriverContext): Promise<Result> => {
      const start = readMonotonic(clock);
      let isReported = false;
      const report = (failed: boolean) => {
        if (!isReported && observer.hasListeners())
          observer.notify({ driver: driver.name, step, ms: readMonotonic(clock) - start, failed });
        isReported = true;
      };
      const abort = () => report(true);
      // A driver that ignores the signal is reported at its deadline.
      context.signal.addEventListener('abort', abort, { once: true });
      try {
        const result = await call(request, context);
        report(false);
        return result;
      } catch (error) {
        report(true);
        throw error;
      } finally {
        context.signal.removeEventListener('abort', abort);
      }
    };
  }

  const { name, submissionAddress, acceptsDeltas = false } = driver;
  return {
    name,
    acceptsDeltas,
    ...(submissionAddress === undefined ? {} : { submissionAddress }),
    solve: observe('solve', (request, context) => driver.solve(request, context)),
    settle: observe('settle', (request, context) => driver.settle(request, context)),
    ...(driver.reveal && { reveal: observe('reveal', driver.reveal.bind(driver)) }),
    ...(driver.notify && { notify: observe('notify', driver.notify.bind(driver)) }),
  };
}
