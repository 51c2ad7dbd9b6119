import { withDeadline } from '../concurrency/deadline.ts';
import { createThrottle } from '../concurrency/throttle.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { createGroupCommit, type GroupCommit } from './group-commit.ts';

/** Submissions per tick of the event loop. A signature takes 50 to 120 µs to verify. */
const SUBMISSIONS_PER_TICK = 8;

/** Paces submissions and stores their orders in groups. */
export interface SubmissionQueue {
  /** Runs a submission, so that `drained` waits for it. */
  track<T>(submission: () => Promise<T>): Promise<T>;
  /** Waits until a submission may continue. Clients take turns. */
  pace(client?: string): Promise<void>;
  readonly insert: GroupCommit['insert'];
  /**
   * Waits until all submissions have ended, at most `timeout` milliseconds. Inserts that have begun end in any case.
   */
  drained(timeout: number): Promise<void>;
}

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
): SubmissionQueue {
  const throttle = createThrottle(SUBMISSIONS_PER_TICK);
  const commits = createGroupCommit({ store, clock, more: () => throttle.waiting > 0, onLateEnd });
  const active = new Set<Promise<unknown>>();
  return {
    async track(submission) {
      const running = submission();
      active.add(running);
      try {
        return await running;
      } finally {
        active.delete(running);
      }
    },
    pace: throttle.acquire,
    insert: (...insert) => observeInsert(commits.insert(...insert)),
    async drained(timeout) {
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
