import type { Store, StoredOrder } from 'intentbook';
import type { OrderKey } from './export-ranges.ts';

/** Orders per page. */
const PAGE = 500;

/** Iterates over all orders of a store by page, newest first. */
export async function* readPages(store: Store, after?: OrderKey): AsyncGenerator<readonly StoredOrder[]> {
  for (let last = after; ; ) {
    const page = await store.orders.list({ limit: PAGE, ...(last === undefined ? {} : { after: last }) });
    if (page.length === 0) return;
    yield page;
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE) return;
    last = { creationDate: end.creationDate, uid: end.uid };
  }
}

/**
 * Returns the number of all orders, or of those that ended before a time, for the progress of a command. `undefined` if
 * the store cannot count them, for example because it would take longer than its limit.
 *
 * @param endedBefore - In seconds since 1970.
 */
export async function countOrders(store: Store, endedBefore?: number): Promise<number | undefined> {
  return store.orders.total?.(endedBefore).catch(() => undefined);
}
