import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { QuoteStore } from '../ports/quotes.ts';

/** Interval between two sweeps in milliseconds, and maximum number of quotes per step. */
const INTERVAL = 30_000;
const BATCH = 1_000;

/** The worker that deletes expired quotes while the book runs. */
export interface QuoteSweeper {
  start(): void;
  /** Waits for a running step. */
  stop(): Promise<void>;
}

export function createQuoteSweeper(
  quotes: QuoteStore,
  clock: Clock,
  onFailure: (failure: unknown) => void,
): QuoteSweeper {
  let cancel: Cancel = () => {};
  let running: Promise<void> | undefined;
  let stopped = true;

  async function sweep(): Promise<void> {
    try {
      // Yields between steps, so that a synchronous store does not block the process.
      while (!stopped && (await quotes.prune(clock.now(), BATCH)) === BATCH) await yieldToEventLoop();
    } catch (failure) {
      onFailure(failure);
    }
    running = undefined;
    if (!stopped) schedule();
  }

  function schedule(): void {
    cancel = clock.after(INTERVAL, () => {
      running = sweep();
    });
  }

  return {
    start() {
      stopped = false;
      schedule();
    },
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}
