import type { AccountTools } from '../account-tools/account-tools.ts';
import { recordPrunedBefore } from '../account-tools/pruned-notifications.ts';
import { createClockWatch } from '../concurrency/clock-watch.ts';
import { createWorker, type Worker } from '../concurrency/lifecycle.ts';
import type { AccountStore } from '../ports/account-store.ts';
import { readMonotonic, yieldToEventLoop } from '../ports/clock.ts';

/** Rows that are deleted in one step. */
const BATCH_SIZE = 128;

/** Milliseconds between two rounds. Stream readers have this time to read an entry of the log. */
const INTERVAL = 3_600_000;

/** Milliseconds without a jump of the clock before data is deleted. */
const STEADY_TIME = 600_000;

/** Milliseconds between two checks of whether a round is due. The clock cannot be steady for long enough earlier. */
const CHECK_INTERVAL = STEADY_TIME;

/** Deletes old notifications and expired nonces. `stop` waits for the step in progress. */
export type AccountRetention = Pick<Worker, 'start' | 'stop'>;

/**
 * Creates the deletion, in bounded steps, once an hour. A notification has the time of its cause, so its log entry must
 * also have been in the log in the previous round. Several processes may do this concurrently.
 */
export function createAccountPruning({
  store,
  clock,
  notifications: age,
  onFailure,
}: Pick<AccountTools, 'clock' | 'onFailure'> & {
  readonly store: Pick<AccountStore, 'notifications' | 'retention'>;
  /** Milliseconds that notifications are kept. `undefined`: without limit. */
  readonly notifications: number | undefined;
}): AccountRetention {
  const { notifications, retention } = store;
  const watch = createClockWatch(clock);
  /** When the last round began, in milliseconds of `readMonotonic`. */
  let prunedAt: number | undefined;
  /** End of the log in the previous round. */
  let readable: number | undefined;

  async function repeat(isStopping: () => boolean, step: () => Promise<number>): Promise<void> {
    while (!isStopping() && watch.isSteady(STEADY_TIME) && (await step()) === BATCH_SIZE) await yieldToEventLoop();
  }

  async function pruneNotifications(before: number, isStopping: () => boolean): Promise<void> {
    const last = await notifications.last();
    const through = readable;
    readable = last;
    if (through === undefined) return;
    await recordPrunedBefore(store, before);
    await repeat(isStopping, () => retention.pruneNotifications({ before, through, limit: BATCH_SIZE }));
  }

  return createWorker({
    clock,
    interval: CHECK_INTERVAL,
    onFailure,
    async run(isStopping) {
      // The absolute difference: a clock without monotonic time may be set back, which must not postpone the round.
      const isDone = prunedAt !== undefined && Math.abs(readMonotonic(clock) - prunedAt) < INTERVAL;
      if (isDone || !watch.isSteady(STEADY_TIME)) return undefined;
      prunedAt = readMonotonic(clock);
      await repeat(isStopping, () => retention.pruneNonces(clock.now(), BATCH_SIZE));
      if (age !== undefined) await pruneNotifications(clock.now() - age, isStopping);
      return undefined;
    },
  });
}
