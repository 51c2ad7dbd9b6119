import { createThrottle } from '../concurrency/throttle.ts';
import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { GroupCommit } from './group-commit.ts';
import { createGroupCommit } from './group-commit.ts';

/** Submissions per tick of the event loop. A signature takes about 100 µs to verify. */
const SUBMISSIONS_PER_TICK = 8;

/** Paces submissions and stores their orders in groups. */
export interface SubmissionQueue {
  /** Waits until a submission may continue, in the order of arrival. */
  pace(): Promise<void>;
  readonly insert: GroupCommit['insert'];
  /** Waits until no submission waits to continue, and all inserts have ended. */
  drained(): Promise<void>;
}

/** Creates the queue of a book. */
export function createSubmissionQueue(store: Store, clock: Clock): SubmissionQueue {
  const throttle = createThrottle(SUBMISSIONS_PER_TICK);
  const commits = createGroupCommit({ store, clock, more: () => throttle.waiting > 0 });
  return {
    pace: throttle.acquire,
    insert: commits.insert,
    async drained() {
      // A submission that continues inserts its order within the same tick, unless it waits for a node.
      while (throttle.waiting > 0) await yieldToEventLoop();
      await yieldToEventLoop();
      await commits.drained();
    },
  };
}
