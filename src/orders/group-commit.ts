import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Clock } from '../ports/clock.ts';
import type { InsertOptions, InsertOutcome, OrderInsert, Store } from '../ports/store.ts';

/** How orders reach the store: alike to `OrderStore.insert`, but together with others. */
export interface GroupCommit {
  insert(inserts: readonly OrderInsert[], options?: InsertOptions): Promise<InsertOutcome[]>;
  /** Waits until everything that was handed over is stored or has failed. */
  drained(): Promise<void>;
}

export interface GroupCommitOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Whether more is about to come that is worth a wait. */
  readonly more: () => boolean;
  readonly turn?: () => Promise<void>;
}

/** Orders that one step inserts at most, which bounds how long a synchronous store holds up the process. */
export const LARGEST_GROUP = 64;

/** Milliseconds that an order waits for company, or for a group before it that does not come back. */
export const MAX_WAIT_MS = 10;

/** How many are told of their orders between two turns: each of them may have the next one at hand. */
const RESULTS_PER_TICK = 16;

interface Member {
  readonly inserts: readonly OrderInsert[];
  readonly settle: (outcomes: InsertOutcome[]) => void;
  readonly fail: (failure: unknown) => void;
}

/**
 * Stores what is submitted at the same time in one durable step, since it is the disk that makes a step slow, not the
 * orders in it. Each member has its own outcome; when a group failures, each is tried again by itself, so that one whose
 * order breaks the step fails alone. What joins a transaction of the host is passed on as it is.
 */
export function groupCommits({ store, clock, more, turn = yieldToEventLoop }: GroupCommitOptions): GroupCommit {
  let queue: Member[] = [];
  let draining: Promise<void> | undefined;
  const committing = new Set<Promise<void>>();

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      await gather();
      const step = commit(take()).finally(() => committing.delete(step));
      committing.add(step);
      await patiently(step);
    }
    draining = undefined;
  }

  /** Waits for those who come in the same turn, and for those who are about to come. */
  async function gather(): Promise<void> {
    const since = clock.now();
    do await turn();
    while (more() && sizeOf(queue) < LARGEST_GROUP && clock.now() - since < MAX_WAIT_MS);
  }

  function take(): Member[] {
    let size = 0;
    const cut = queue.findIndex(({ inserts }, i) => {
      size += inserts.length;
      return size > LARGEST_GROUP && i > 0;
    });
    const group = cut < 0 ? queue : queue.slice(0, cut);
    queue = cut < 0 ? [] : queue.slice(cut);
    return group;
  }

  /** Waits for a step to end, but not so long that those who come after it suffer for it. */
  async function patiently(step: Promise<void>): Promise<void> {
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
      if (group.length > RESULTS_PER_TICK && i % RESULTS_PER_TICK === 0) await turn();
      settle(outcomes.slice(start, start + inserts.length));
      start += inserts.length;
    }
  }

  /** Nothing of the group is there. Who is at failure shows when each goes alone, unless it is the store itself. */
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
      } catch (own) {
        fail(own);
        last = own;
        alone = await works(store);
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

function sizeOf(queue: readonly Member[]): number {
  return queue.reduce((size, { inserts }) => size + inserts.length, 0);
}

async function works(store: Store): Promise<boolean> {
  return store.check().then(
    () => true,
    () => false,
  );
}
