import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { QuoteStore } from '../ports/quotes.ts';

/** Milliseconds between two sweeps, and how many quotes are removed in one step of it. */
const INTERVAL = 30_000;
const BATCH = 1_000;

/** Removes expired quotes for as long as the book runs. */
export interface QuoteSweeper {
  start(): void;
  /** Waits for a step that is running. */
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
      // What else the process has to do comes between two steps, however fast the store is.
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
