import type { Store, StoredOrder } from 'intentbook';

/** Orders that are read at once. */
const PAGE = 500;

/** Walks all orders of a store, newest first, a page at a time. */
export async function* readPages(
  store: Store,
  after?: Pick<StoredOrder, 'creationDate' | 'uid'>,
): AsyncGenerator<readonly StoredOrder[]> {
  for (let last = after; ; ) {
    const page = await store.orders.list({ limit: PAGE, ...(last === undefined ? {} : { after: last }) });
    if (page.length === 0) return;
    yield page;
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE) return;
    last = { creationDate: end.creationDate, uid: end.uid };
  }
}
