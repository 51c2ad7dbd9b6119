import { withDeadline } from '../../concurrency/deadline.ts';
import type { Clock } from '../../ports/clock.ts';
import { isRecent, readMonotonic } from '../../ports/clock.ts';
import type { AuctionRunSettings } from './run-options.ts';
import type { SolverDriver } from './solver-driver.ts';

/** Which drivers take part in the next auction. */
export interface Participation {
  /** Returns the drivers that are not excluded. */
  admitted(): readonly SolverDriver[];
  /** Counts the result of a winner. Excludes and notifies its driver after too many auctions without a settlement. */
  ended(auctionId: number, driver: string, failed: boolean): Promise<void>;
}

/** The unsettled auctions of a driver since its last settlement. */
interface Unsettled {
  readonly count: number;
  readonly auctionId: number;
}

/** Creates the record of settlements. It is kept by this process, and begins empty. */
export function createParticipation(
  { drivers, banAfter, banTime, revealTime }: AuctionRunSettings,
  clock: Clock,
  signal: AbortSignal,
): Participation {
  const unsettled = new Map<string, Unsettled>();
  /** The start of the last ban in milliseconds of `readMonotonic`, by name. */
  const bannedAt = new Map<string, number>();

  return {
    admitted() {
      return drivers.filter(({ name }) => {
        const at = bannedAt.get(name);
        return at === undefined || !isRecent(clock, at, banTime);
      });
    },
    async ended(auctionId, name, failed) {
      const { count, auctionId: last } = unsettled.get(name) ?? { count: 0, auctionId: 0 };
      if (!failed || last === auctionId) {
        if (!failed) unsettled.delete(name);
        return;
      }
      unsettled.set(name, { count: count + 1, auctionId });
      if (banAfter === 'never' || count + 1 < banAfter) return;
      unsettled.delete(name);
      bannedAt.set(name, readMonotonic(clock));
      const driver = drivers.find((each) => each.name === name);
      const notification = { reason: 'unsettledConsecutiveAuctions', until: clock.now() + banTime } as const;
      await withDeadline(clock, revealTime, async (each) => driver?.notify?.(notification, { signal: each }), signal);
    },
  };
}
