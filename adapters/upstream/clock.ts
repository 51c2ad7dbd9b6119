import type { Clock, UpstreamContext } from 'intentbook';

/** Milliseconds by which clocks may differ. The time of a response is exact to about a second. */
const TOLERANCE = 5_000;

/** Largest correction, in milliseconds. A clock that differs more is not the same clock with an error. */
const MAX_CORRECTION = 600_000;

/** The time of a book with an upstream. */
export type UpstreamClock = ReturnType<typeof createUpstreamClock>;

/**
 * Creates the time of a book with an upstream. If the clock of this host is wrong, it is that of the other book. The
 * processes of one store agree for the same reason.
 *
 * @param getSkew - Returns the milliseconds by which the clock of the other book is ahead of that of the host.
 */
export function createUpstreamClock(host: Clock, getSkew: () => number | undefined) {
  let correction = 0;
  let isCompared = false;
  let last: number | undefined;
  const time: Clock = {
    now: () => host.now() + correction,
    ...(host.monotonic && { monotonic: () => host.monotonic?.() ?? host.now() }),
    after: (ms, task) => host.after(ms, task),
    ...(host.hold && { hold: () => host.hold?.() ?? (() => {}) }),
  };

  function correct(): void {
    const skew = getSkew() ?? 0;
    // A proxy may answer once in place of the other book, with its own time.
    const isSteady = last !== undefined && Math.abs(skew - last) < TOLERANCE;
    last = skew;
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
