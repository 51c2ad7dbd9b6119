import type { Clock } from '../ports/clock.ts';
import { readMonotonic } from '../ports/clock.ts';
import type { InsertOutcome, OrderInsert } from '../ports/store.ts';
import { StoreError } from '../ports/store.ts';

/** Delay before an order of an owner with a running write is inserted again, in milliseconds. */
export const BUSY_DELAY_MS = 50;

/** Maximum time in milliseconds that an order waits for running writes of its owner. */
export const MAX_BUSY_MS = 5000;

/** The inserts of one caller, and the functions that receive their result. */
export interface Member {
  readonly inserts: readonly OrderInsert[];
  readonly settle: (outcomes: InsertOutcome[]) => void;
  readonly fail: (failure: unknown) => void;
  /** When the caller began to use the store, in milliseconds of `readMonotonic`. */
  readonly since: number;
}

/**
 * Waits before the busy orders of a member are inserted again.
 *
 * @returns A member with these orders, which settles the given one; undefined if the time has run out.
 */
export async function waitForOwners(
  member: Member,
  outcomes: InsertOutcome[],
  clock: Clock,
): Promise<Member | undefined> {
  const { since } = member;
  const busy = outcomes.flatMap(({ status }, i) => (status === 'busy' ? [i] : []));
  // The other orders of the member are stored: its busy ones keep an outcome that is not known.
  const fail = busy.length < outcomes.length ? () => member.settle(outcomes) : member.fail;
  if (readMonotonic(clock) - since >= MAX_BUSY_MS) {
    fail(new StoreError('Unavailable', 'another write of orders of the same owner does not end'));
    return undefined;
  }
  await new Promise<void>((resolve) => {
    clock.after(BUSY_DELAY_MS, resolve);
  });
  return {
    inserts: member.inserts.filter((_, i) => outcomes[i]?.status === 'busy'),
    since,
    fail,
    settle(later) {
      for (const [i, position] of busy.entries()) outcomes[position] = later[i] ?? { status: 'unknown' };
      member.settle(outcomes);
    },
  };
}
