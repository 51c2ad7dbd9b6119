import type { Store } from 'intentbook';
import type { Progress } from './progress.ts';

export interface Pruned {
  /** Number of orders whose expiry was recorded first. */
  readonly swept: number;
  readonly orders: number;
  readonly quotes: number;
  /** Orders that finished before this time were deleted. ISO 8601. */
  readonly before: string;
}

/** Maximum number of rows per step, which bounds the time that other clients wait. */
const STEP = 500;

/** Deletes orders that finished a number of days ago, in bounded steps. */
export async function pruneBook(store: Store, days: number, now: number, progress: Progress): Promise<Pruned> {
  const second = Math.floor(now / 1000);
  const before = second - days * 24 * 60 * 60;
  const swept = await repeat(() => store.orders.expire(second, STEP));
  const total = await store.orders.total?.(before);
  let orders = 0;
  await repeat(async () => {
    const removed = await store.orders.prune({ before, limit: STEP });
    orders += removed;
    progress.at(orders, total);
    return removed;
  });
  const quotes = await repeat(() => store.quotes.prune(now, STEP));
  return { swept, orders, quotes, before: new Date(before * 1000).toISOString() };
}

/** Repeats a step until it deletes nothing. The event loop runs between two steps. */
async function repeat(step: () => Promise<number>): Promise<number> {
  let total = 0;
  for (let done = await step(); done > 0; done = await step()) {
    total += done;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return total;
}
