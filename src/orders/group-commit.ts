import { withDeadline } from '../concurrency/abort.ts';
import { createThrottle } from '../concurrency/limit.ts';
import { type Clock, readMonotonic, thenAlways, yieldToEventLoop } from '../ports/clock.ts';
import type { InsertOptions, InsertOutcome, OrderInsert, Store } from '../ports/store.ts';
import type { Member } from './insert-retries.ts';

/** Inserts orders like `OrderStore.insert`, grouped with those of other callers. */
export type GroupCommit = ReturnType<typeof createGroupCommit>;

export interface GroupCommitOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Whether further inserts are expected soon, so that waiting for them is worthwhile. */
  readonly more: () => boolean;
  /** Called when a step ends whose outcome was reported as unknown. */
  readonly onLateEnd: () => void;
  readonly nextTick?: () => Promise<void>;
}

/** Maximum number of orders per step. It bounds how long a synchronous store blocks the event loop. */
export const MAX_GROUP_SIZE = 128;

/** Maximum time in milliseconds that an insert waits for further inserts. */
export const MAX_WAIT_MS = 10;

/** Maximum time in milliseconds that an insert waits for the previous group: larger groups need fewer statements. */
export const MAX_GROUP_WAIT_MS = 50;

const retries = () => import('./insert-retries.ts');

/** Number of results delivered per event-loop tick: each may cause the caller to continue with further work. */
const RESULTS_PER_TICK = 16;

/**
 * Time in milliseconds after which the outcome of a running insert is reported as unknown. It includes the search for a
 * quote.
 */
export const MAX_INSERT_MS = 9000;

/**
 * Creates a group commit: concurrent submissions are stored in one durable step, because the sync to disk dominates its
 * cost. Each member has its own outcome. If a group fails because of a member, its members are retried one by one, so
 * that only the invalid one fails. Orders of an owner with a running write are left out and inserted again later, so
 * that they delay no other owner. Inserts that join a transaction of the host are passed on directly.
 */
export function createGroupCommit({ store, clock, more, onLateEnd, nextTick = yieldToEventLoop }: GroupCommitOptions) {
  let queue: Member[] = [];
  let draining: Promise<void> | undefined;
  const committing = new Set<Promise<void>>();

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      await gather();
      const group = take();
      const step = thenAlways(commit(group), () => committing.delete(step));
      committing.add(step);
      await waitAtMost(step, clock);
      if (committing.has(step)) for (const member of group) limit(member, step);
    }
    draining = undefined;
  }

  /** Waits for inserts of the same event-loop tick, and for those that are expected. */
  async function gather(): Promise<void> {
    const since = readMonotonic(clock);
    do await nextTick();
    while (more() && countOrders(queue) < MAX_GROUP_SIZE && readMonotonic(clock) - since < MAX_WAIT_MS);
  }

  function take(): Member[] {
    let size = 0;
    const end = queue.findIndex(({ inserts }, i) => {
      size += inserts.length;
      return size > MAX_GROUP_SIZE && i > 0;
    });
    const group = end < 0 ? queue : queue.slice(0, end);
    queue = end < 0 ? [] : queue.slice(end);
    return group;
  }

  /** Reports an unknown outcome if a step does not end in time. The step continues: its orders may be stored. */
  function limit({ inserts, settle, since }: Member, step: Promise<void>): void {
    const left = Math.min(MAX_INSERT_MS, since + MAX_INSERT_MS - readMonotonic(clock));
    const cancel = clock.after(left, () => {
      settle(inserts.map(() => ({ status: 'unknown' })));
      void thenAlways(step, onLateEnd);
    });
    void step.finally(cancel);
  }

  async function commit(group: readonly Member[]): Promise<void> {
    let outcomes: InsertOutcome[];
    try {
      outcomes = await store.orders.insert(
        group.flatMap(({ inserts }) => inserts),
        { skipLocked: true },
      );
    } catch (failure) {
      return (await retries()).retryEach(group, failure, store, settle);
    }
    let start = 0;
    for (const [i, member] of group.entries()) {
      if (group.length > RESULTS_PER_TICK && i % RESULTS_PER_TICK === 0) await nextTick();
      settle(member, outcomes.slice(start, start + member.inserts.length));
      start += member.inserts.length;
    }
  }

  /** Settles a member, or inserts its busy orders again later. Only stores with several writers have busy orders. */
  function settle(member: Member, outcomes: InsertOutcome[]): void {
    if (outcomes.every(({ status }) => status !== 'busy')) {
      member.settle(outcomes);
      return;
    }
    const retried = retries()
      .then(({ waitForOwners }) => waitForOwners(member, outcomes, clock))
      .then((retry) => retry && add(retry), member.fail);
    const waiting = thenAlways(retried, () => committing.delete(waiting));
    committing.add(waiting);
  }

  function add(member: Member): void {
    queue.push(member);
    draining ??= drain();
  }

  return {
    /** @param since - Monotonic time at which the caller began to use the store, in milliseconds. Default: now. */
    insert(
      inserts: readonly OrderInsert[],
      options?: InsertOptions,
      since: number = readMonotonic(clock),
    ): Promise<InsertOutcome[]> {
      if (options?.transaction !== undefined) return store.orders.insert(inserts, options);
      return new Promise((settle, fail) => {
        add({ inserts, settle, fail, since });
      });
    },
    /** Waits until all pending inserts have completed or failed. */
    async drained(): Promise<void> {
      while (draining !== undefined || committing.size > 0) await Promise.all([draining, ...committing]);
    },
  };
}

/** Waits for a step, at most `MAX_GROUP_WAIT_MS`, so that a slow step does not delay later groups. */
async function waitAtMost(step: Promise<void>, clock: Clock): Promise<void> {
  let cancel = () => {};
  const late = new Promise<void>((resolve) => {
    cancel = clock.after(MAX_GROUP_WAIT_MS, resolve);
  });
  await Promise.race([step, late]);
  cancel();
}

function countOrders(queue: readonly Member[]): number {
  return queue.reduce((size, { inserts }) => size + inserts.length, 0);
}

/** Submissions per tick of the event loop. A signature takes 50 to 120 µs to verify. */
const SUBMISSIONS_PER_TICK = 8;

/** Paces submissions and stores their orders in groups. */
export type SubmissionQueue = ReturnType<typeof createSubmissionQueue>;

/**
 * Creates the queue of a book.
 *
 * @param onLateEnd - Called when a step ends whose outcome was reported as unknown.
 * @param observeInsert - Observes an insert and returns it.
 */
export function createSubmissionQueue(
  store: Store,
  clock: Clock,
  { onLateEnd, observeInsert }: { onLateEnd(): void; observeInsert<T>(insert: Promise<T>): Promise<T> },
) {
  const throttle = createThrottle(SUBMISSIONS_PER_TICK);
  const commits = createGroupCommit({ store, clock, more: () => throttle.waiting > 0, onLateEnd });
  const active = new Set<Promise<unknown>>();
  return {
    /** Runs a submission, so that `drained` waits for it. */
    async track<T>(submission: () => Promise<T>): Promise<T> {
      const running = submission();
      active.add(running);
      try {
        return await running;
      } finally {
        active.delete(running);
      }
    },
    /** Waits until a submission may continue. Clients take turns. */
    pace: (client?: string) => throttle.acquire(client === undefined ? undefined : () => client),
    insert: (...insert: Parameters<GroupCommit['insert']>) => observeInsert(commits.insert(...insert)),
    /**
     * Waits until all submissions have ended, at most `timeout` milliseconds. Inserts that have begun end in any case.
     */
    async drained(timeout: number): Promise<void> {
      const release = clock.hold?.();
      const wait = async () => {
        while (active.size > 0) await Promise.allSettled(active);
      };
      await withDeadline(clock, timeout, wait).catch(() => {}); // the rest fails when the store is closed
      release?.();
      await commits.drained();
    },
  };
}
