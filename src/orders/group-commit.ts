import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Clock } from '../ports/clock.ts';
import type { InsertOptions, InsertOutcome, OrderInsert, Store } from '../ports/store.ts';

/** Inserts orders like `OrderStore.insert`, grouped with those of other callers. */
export interface GroupCommit {
  insert(inserts: readonly OrderInsert[], options?: InsertOptions): Promise<InsertOutcome[]>;
  /** Waits until all pending inserts have completed or failed. */
  drained(): Promise<void>;
}

export interface GroupCommitOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Whether further inserts are expected soon, so that waiting for them is worthwhile. */
  readonly more: () => boolean;
  readonly nextTick?: () => Promise<void>;
}

/** Maximum number of orders per step. It bounds how long a synchronous store blocks the event loop. */
export const MAX_GROUP_SIZE = 64;

/** Maximum time in milliseconds that an insert waits for further inserts, or for the previous group. */
export const MAX_WAIT_MS = 10;

/** Number of results delivered per event-loop tick: each may cause the caller to continue with further work. */
const RESULTS_PER_TICK = 16;

interface Member {
  readonly inserts: readonly OrderInsert[];
  readonly settle: (outcomes: InsertOutcome[]) => void;
  readonly fail: (failure: unknown) => void;
}

/**
 * Creates a group commit: concurrent submissions are stored in one durable step, because the sync to disk dominates its
 * cost. Each member has its own outcome. If a group fails, its members are retried one by one, so that only the invalid
 * one fails. Inserts that join a transaction of the host are passed on directly.
 */
export function createGroupCommit({
  store,
  clock,
  more,
  nextTick = yieldToEventLoop,
}: GroupCommitOptions): GroupCommit {
  let queue: Member[] = [];
  let draining: Promise<void> | undefined;
  const committing = new Set<Promise<void>>();

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      await gather();
      const step = commit(take()).finally(() => committing.delete(step));
      committing.add(step);
      await waitAtMost(step);
    }
    draining = undefined;
  }

  /** Waits for inserts of the same event-loop tick, and for those that are expected. */
  async function gather(): Promise<void> {
    const since = clock.now();
    do await nextTick();
    while (more() && countOrders(queue) < MAX_GROUP_SIZE && clock.now() - since < MAX_WAIT_MS);
  }

  function take(): Member[] {
    let size = 0;
    const cut = queue.findIndex(({ inserts }, i) => {
      size += inserts.length;
      return size > MAX_GROUP_SIZE && i > 0;
    });
    const group = cut < 0 ? queue : queue.slice(0, cut);
    queue = cut < 0 ? [] : queue.slice(cut);
    return group;
  }

  /** Waits for a step, at most `MAX_WAIT_MS`, so that a slow step does not delay later groups. */
  async function waitAtMost(step: Promise<void>): Promise<void> {
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = clock.after(MAX_WAIT_MS, resolve);
    });
    await Promise.race([step, late]);
    cancel();
  }

  async function commit(group: readonly Member[]): Promise<void> {
    let outcomes: InsertOutcome[];
    try {
      outcomes = await store.orders.insert(group.flatMap(({ inserts }) => inserts));
    } catch (failure) {
      return commitEach(group, failure);
    }
    let start = 0;
    for (const [i, { inserts, settle }] of group.entries()) {
      if (group.length > RESULTS_PER_TICK && i % RESULTS_PER_TICK === 0) await nextTick();
      settle(outcomes.slice(start, start + inserts.length));
      start += inserts.length;
    }
  }

  /** Retries the members of a failed group one by one. Stops if the store itself has failed. */
  async function commitEach(group: readonly Member[], failure: unknown): Promise<void> {
    let alone = group.length > 1;
    let last = failure;
    for (const { inserts, settle, fail } of group) {
      if (!alone) {
        fail(last);
        continue;
      }
      try {
        settle(await store.orders.insert(inserts));
      } catch (cause) {
        fail(cause);
        last = cause;
        alone = await isAvailable(store);
      }
    }
  }

  return {
    insert(inserts, options) {
      if (options?.transaction !== undefined) return store.orders.insert(inserts, options);
      return new Promise((settle, fail) => {
        queue.push({ inserts, settle, fail });
        draining ??= drain();
      });
    },
    async drained() {
      while (draining !== undefined || committing.size > 0) await Promise.all([draining, ...committing]);
    },
  };
}

function countOrders(queue: readonly Member[]): number {
  return queue.reduce((size, { inserts }) => size + inserts.length, 0);
}

async function isAvailable(store: Store): Promise<boolean> {
  return store.check().then(
    () => true,
    () => false,
  );
}
