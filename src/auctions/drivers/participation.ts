import { withDeadline } from '../../concurrency/abort.ts';
import { type Clock, isRecent, readMonotonic } from '../../ports/clock.ts';
import type { SolutionId } from '../in-flight.ts';
import type { AuctionRunSettings } from './run-options.ts';
import type { SolverDriver } from './solver-driver.ts';
import type { WinOutcome } from './win-outcome.ts';

/** An auction that a driver has won. */
interface Win {
  readonly solutions: readonly SolutionId[];
  /** The last block in which it may be settled. */
  readonly deadline: number;
}

/**
 * Creates the record of settlements. The chain decides, not the response of a driver. It is kept by this process, and
 * begins empty.
 *
 * @param findOutcome - Returns what the indexed blocks show of a solution.
 * @param signal - Aborted when the run ends.
 */
export function createParticipation(
  { drivers, banAfter, banTime, revealTime }: AuctionRunSettings,
  clock: Clock,
  findOutcome: (solution: SolutionId) => Promise<WinOutcome>,
  signal: AbortSignal,
) {
  /** The auctions since the last one that is known to be settled, by driver, in order. */
  const wins = new Map<string, readonly Win[]>();
  /** The start of the last ban in milliseconds of `readMonotonic`, by name. */
  const bannedAt = new Map<string, number>();

  /** Returns the wins after the last settled one that the driver could settle. A settlement may be indexed late. */
  async function findUnsettled(won: readonly Win[]): Promise<readonly Win[]> {
    let unsettled: readonly Win[] = [];
    for (const win of won) {
      const outcomes = await Promise.all(win.solutions.map(findOutcome));
      if (outcomes.includes('settled')) unsettled = [];
      else if (!outcomes.includes('superseded')) unsettled = [...unsettled, win];
    }
    return unsettled;
  }

  async function ban(name: string): Promise<void> {
    bannedAt.set(name, readMonotonic(clock));
    const driver = drivers.find((each) => each.name === name);
    const notification = { reason: 'unsettledConsecutiveAuctions', until: clock.now() + banTime } as const;
    await withDeadline(clock, revealTime, async (each) => driver?.notify?.(notification, { signal: each }), signal);
  }

  return {
    /** Returns the drivers that are not excluded. */
    admitted(): readonly SolverDriver[] {
      return drivers.filter(({ name }) => {
        const at = bannedAt.get(name);
        return at === undefined || !isRecent(clock, at, banTime);
      });
    },
    /** Adds an auction that a driver has won, with its winning solutions. */
    won(driver: string, solutions: readonly SolutionId[], deadline: number): void {
      if (banAfter === 'never') return;
      wins.set(driver, [...(wins.get(driver) ?? []), { solutions, deadline }]);
    },
    /**
     * Evaluates the auctions whose deadline is confirmed. Excludes and notifies drivers that have settled none of them.
     *
     * @param confirmedTo - The last block of which no log is missing: that of a settlement may be indexed late.
     */
    async update(confirmedTo: number): Promise<void> {
      const banned: string[] = [];
      for (const [driver, won] of wins) {
        const isDue = ({ deadline }: Win) => deadline < confirmedTo;
        const due = won.filter(isDue);
        if (banAfter === 'never' || due.length < banAfter) continue;
        const unsettled = await findUnsettled(due);
        if (unsettled.length >= banAfter) banned.push(driver);
        const left = unsettled.length >= banAfter ? [] : unsettled;
        wins.set(driver, [...left, ...won.filter((each) => !isDue(each))]);
      }
      await Promise.all(banned.map(ban));
    },
  };
}
