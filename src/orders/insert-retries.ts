import { type Clock, readMonotonic } from '../ports/clock.ts';
import { type InsertOutcome, type OrderInsert, type Store, StoreError, type StoreErrorCode } from '../ports/store.ts';

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

/**
 * Retries the members of a failed group one by one. Stops if the store itself has failed.
 *
 * @param settle - Receives the outcomes of a member.
 */
export async function retryEach(
  group: readonly Member[],
  failure: unknown,
  store: Store,
  settle: (member: Member, outcomes: InsertOutcome[]) => void,
): Promise<void> {
  const commitAlone = ({ inserts }: Member) => store.orders.insert(inserts, { skipLocked: true });
  if (group.length > 1 && isStoreFailure(failure, 'Unavailable') && (await isAvailable(store))) {
    // A member has waited too long for a lock. Concurrently, so that it delays no other one again.
    const retries = group.map((member) =>
      commitAlone(member).then((outcomes) => settle(member, outcomes), member.fail),
    );
    await Promise.all(retries);
    return;
  }
  let alone = group.length > 1 && !isStoreFailure(failure);
  let last = failure;
  for (const member of group) {
    if (!alone) {
      member.fail(last);
      continue;
    }
    try {
      settle(member, await commitAlone(member));
    } catch (cause) {
      member.fail(cause);
      last = cause;
      alone = !isStoreFailure(cause) && (await isAvailable(store));
    }
  }
}

/** Returns whether a failure concerns the store, and not one of the orders. */
function isStoreFailure(failure: unknown, code?: StoreErrorCode): boolean {
  return failure instanceof StoreError && failure.code !== 'InvalidValue' && (code ?? failure.code) === failure.code;
}

async function isAvailable(store: Store): Promise<boolean> {
  return store.check().then(
    () => true,
    () => false,
  );
}
