import type { Clock, UpstreamContext } from 'intentbook';

/** Milliseconds by which clocks may differ. The time of a response is exact to about a second. */
const TOLERANCE = 5_000;

/** Largest correction, in milliseconds. A clock that differs more is not the same clock with an error. */
const MAX_CORRECTION = 600_000;

/** Calls without a measurement after which the clocks count as equal: not each book sends the time. */
const UNMEASURED = 10;

/** The difference of two clocks at a time. */
export interface ClockMeasurement {
  /** Milliseconds by which the clock of the other book is ahead of that of the host. */
  readonly skew: number;
}

/** The time of a book with an upstream. */
export type UpstreamClock = ReturnType<typeof createUpstreamClock>;

/**
 * Creates the time of a book with an upstream. If the clock of this host is wrong, it is that of the other book. The
 * processes of one store agree for the same reason.
 *
 * @param getMeasurement - Returns the newest measurement: another object for each.
 */
export function createUpstreamClock(host: Clock, getMeasurement: () => ClockMeasurement | undefined) {
  let correction = 0;
  let isCompared = false;
  let unmeasured = 0;
  let last: ClockMeasurement | undefined;
  const time: Clock = {
    now: () => host.now() + correction,
    ...(host.monotonic && { monotonic: () => host.monotonic?.() ?? host.now() }),
    after: (ms, task) => host.after(ms, task),
    ...(host.hold && { hold: () => host.hold?.() ?? (() => {}) }),
  };

  function correct(): void {
    const measured = getMeasurement();
    if (measured === last || measured === undefined) {
      isCompared ||= ++unmeasured >= UNMEASURED;
      return;
    }
    const { skew } = measured;
    // A proxy may answer once in place of the other book, with its own time.
    const isSteady = last !== undefined && Math.abs(skew - last.skew) < TOLERANCE;
    last = measured;
    if (!isSteady) return;
    isCompared = true;
    if (Math.abs(skew - correction) < TOLERANCE) return;
    const size = Math.abs(skew);
    correction = size < TOLERANCE || size > MAX_CORRECTION ? 0 : skew;
  }

  return {
    time,
    /** Milliseconds from the time of the host to that of the book. */
    get correction(): number {
      return correction;
    },
    /** Returns the context of the calls: they have the clock of the host, which is compared after each of them. */
    attach(context: UpstreamContext): UpstreamContext {
      const { reserve } = context;
      return {
        ...context,
        clock: host,
        onCall(call) {
          correct();
          context.onCall(call);
        },
        ...(reserve && {
          async reserve(name: string, interval: number) {
            // A turn at a time that is not that of the other processes would keep them waiting.
            return isCompared ? (await reserve(name, interval)) - correction : host.now();
          },
        }),
      };
    },
  };
}
