import type { Store } from 'intentbook';
import type { Progress } from './progress.ts';

export interface Pruned {
  /** Expired orders that were swept up first. */
  readonly swept: number;
  readonly orders: number;
  readonly quotes: number;
  /** Only what was over before this moment was removed. ISO 8601. */
  readonly before: string;
}

/** What one step removes at most, so that nobody waits long for it. */
const STEP = 500;

/** Removes what has been over for so many days, in bounded steps. */
export async function pruneBook(store: Store, days: number, now: number, progress: Progress): Promise<Pruned> {
  const second = Math.floor(now / 1000);
  const before = second - days * 24 * 60 * 60;
  const swept = await repeat(() => store.orders.expire(second, STEP));
  let orders = 0;
  await repeat(async () => {
    const removed = await store.orders.prune(before, STEP);
    orders += removed;
    progress.at(orders);
    return removed;
  });
  const quotes = await repeat(() => store.quotes.prune(now, STEP));
  return { swept, orders, quotes, before: new Date(before * 1000).toISOString() };
}

/** Takes steps until one finds nothing. Others get their turn between two. */
async function repeat(step: () => Promise<number>): Promise<number> {
  let total = 0;
  for (let done = await step(); done > 0; done = await step()) {
    total += done;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return total;
}
