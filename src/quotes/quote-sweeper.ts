import { createClockWatch } from '../concurrency/clock-watch.ts';
import { createWorker, type Worker } from '../concurrency/lifecycle.ts';
import { type Clock, yieldToEventLoop } from '../ports/clock.ts';
import type { QuoteStore } from '../ports/quote-store.ts';

/** Milliseconds between two sweeps. */
const INTERVAL = 30_000;

/** Quotes that are deleted in one step. */
const BATCH_SIZE = 1_000;

/** Milliseconds after a jump of the clock in which nothing is deleted. */
const JUMP_PAUSE = 600_000;

export function createQuoteSweeper(quotes: QuoteStore, clock: Clock, onFailure: (failure: unknown) => void): Worker {
  const watch = createClockWatch(clock);

  /** Deletes a batch. @returns whether there may be more. */
  async function deleteBatch(): Promise<boolean> {
    if (watch.hasJumped(JUMP_PAUSE)) return false;
    return (await quotes.prune(clock.now(), BATCH_SIZE)) === BATCH_SIZE;
  }

  return createWorker({
    clock,
    interval: INTERVAL,
    runAtStart: false,
    onFailure,
    async run(isStopping) {
      // A synchronous store would otherwise block the event loop until every expired quote is deleted.
      while (!isStopping() && (await deleteBatch())) await yieldToEventLoop();
      return undefined;
    },
  });
}
