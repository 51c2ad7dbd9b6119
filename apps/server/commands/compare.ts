import type { Store, StoredOrder, Upstream, UpstreamDifference, UpstreamOrder } from 'intentbook';
import { systemClock } from 'intentbook';
import { getOrderStatus, loadReconcile } from '#internal';
import type { Progress } from './progress.ts';
import { countOrders, readPages } from './walk.ts';

/** The differences of a book from another one. */
export interface Compared {
  /** Number of orders that both have. */
  readonly compared: number;
  /** Orders of this book that the other one does not have. */
  readonly missing: readonly string[];
  readonly differences: readonly UpstreamDifference[];
}

/** Orders of one read, the maximum of the interface. */
const BATCH = 128;

/** Milliseconds after which a read that failed is repeated. */
const RETRY = 5_000;

/**
 * Compares every order of a store with that of another book. Nothing is changed.
 *
 * @throws Error if the other book cannot be read at the beginning.
 */
export async function compareBook(store: Store, upstream: Upstream, progress: Progress): Promise<Compared> {
  const [total, reconcile] = await Promise.all([countOrders(store), loadReconcile()]);
  const missing: string[] = [];
  const differences: UpstreamDifference[] = [];
  let done = 0;
  for await (const page of readPages(store)) {
    for (let start = 0; start < page.length; start += BATCH) {
      const batch = page.slice(start, start + BATCH);
      const found = await read(upstream, batch, done > 0);
      const now = Math.floor(systemClock.now() / 1000);
      for (const order of batch) {
        const other = found.get(order.uid);
        if (other === undefined) missing.push(order.uid);
        else {
          const found = reconcile(order, other, { chain: 'none', isLasting: false, now }).differences;
          differences.push(...(found.length > 0 ? found : compareStatus(order, other, now)));
        }
      }
      done += batch.length;
      progress.at(done, total);
    }
  }
  return { compared: done - missing.length, missing, differences };
}

/** Compares statuses that a follower leaves to the clock. Around the end of an order the two clocks may differ. */
function compareStatus(order: StoredOrder, other: UpstreamOrder, now: number): readonly UpstreamDifference[] {
  const [local, upstream = local] = [getOrderStatus(order, now), other.status];
  if (local === upstream || Math.abs(order.validTo - now) < 60) return [];
  return [{ uid: order.uid, field: 'status', local, upstream, resolution: 'none' }];
}

/**
 * Reads orders of the other book. A failure is no difference.
 *
 * @param wasRead - Whether it could be read before. Then the function waits while it cannot be read.
 */
async function read(
  upstream: Upstream,
  orders: readonly StoredOrder[],
  wasRead: boolean,
): Promise<ReadonlyMap<string, UpstreamOrder>> {
  for (;;) {
    const answer = await upstream.getOrders(orders.map(({ uid }) => uid));
    if (answer.status === 'read') return new Map(answer.value.map((order) => [order.uid, order]));
    if (!wasRead) throw new Error(`${upstream.name} cannot be read: ${answer.reason}`);
    const until = answer.status === 'blocked' ? answer.until : systemClock.now() + RETRY;
    await new Promise<void>((resolve) => void systemClock.after(Math.max(0, until - systemClock.now()), resolve));
  }
}
