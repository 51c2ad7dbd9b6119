import type { Clock } from '../ports/clock.ts';
import { seconds } from '../ports/clock.ts';
import type { OrderCursor, OrderQuery, Store, StoredOrder } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { OrderCache } from './cache.ts';
import type { PreparedOrder, RenderedOrder } from './order-json.ts';
import { prepareOrder, renderPrepared } from './order-json.ts';
import type { LoadedOrders, UnreadableOrder } from './render-by-uids.ts';
import { renderByUids } from './render-by-uids.ts';

/** One result of reading many orders. */
export type RenderedResult =
  | { readonly order: RenderedOrder; readonly error?: undefined }
  | { readonly order?: undefined; readonly error: UnreadableOrder };

/** A page of a listing. */
export interface RenderedPage {
  readonly orders: readonly RenderedOrder[];
  /** The position where the next page begins; absent on the last page. */
  readonly next?: OrderCursor;
}

export interface ReadContext {
  readonly store: Store;
  readonly clock: Clock;
  /** The order cache, if the store has a single writer. */
  readonly cache?: OrderCache;
  /** Reports rows that cannot be read. */
  readonly onFailure: (failure: unknown) => void;
}

/** Reads one order. Rejects if its row is damaged. */
export async function readOrder(uid: Hex, { store, clock, cache }: ReadContext): Promise<RenderedOrder | undefined> {
  const version = await cache?.refresh();
  const cached = cache?.get(uid);
  if (cached !== undefined) return renderPrepared(cached, seconds(clock));
  const [row] = await store.orders.get([uid]);
  if (row === undefined) return undefined;
  const order = prepareOrder(row);
  if (version !== undefined) cache?.put(order, version);
  return renderPrepared(order, seconds(clock));
}

/**
 * Reads many orders: each once, unknown ones absent, a damaged one as an error. See docs/internals/decisions.md#d2-27.
 */
export async function readOrders(uids: readonly Hex[], context: ReadContext): Promise<RenderedResult[]> {
  const { cached, loaded, unreadable, now } = await loadOrders(uids, context);
  const orders = [...cached, ...loaded].map((order) => ({ order: renderPrepared(order, now) }));
  return [...orders, ...unreadable.map((error) => ({ error }))];
}

/** Reads many orders as one JSON array in UTF-8, as the by_uids route returns it. */
export async function readManyBytes(uids: readonly Hex[], context: ReadContext): Promise<Uint8Array> {
  return renderByUids(await loadOrders(uids, context));
}

async function loadOrders(uids: readonly Hex[], context: ReadContext): Promise<LoadedOrders> {
  const { store, clock, cache } = context;
  const version = await cache?.refresh();
  const result = {
    cached: [] as PreparedOrder[],
    loaded: [] as PreparedOrder[],
    unreadable: [] as UnreadableOrder[],
  };
  const missing: Hex[] = [];
  for (const uid of new Set(uids)) {
    const cached = cache?.get(uid);
    if (cached === undefined) missing.push(uid);
    else result.cached.push(cached);
  }
  // Read once, so that all statuses are derived from the same time.
  const now = seconds(clock);
  if (missing.length === 0) return { ...result, now };
  for (const row of await store.orders.get(missing)) {
    const order = prepare(row, context);
    if (order === undefined) result.unreadable.push(toUnreadableOrder(row));
    else {
      result.loaded.push(order);
      if (version !== undefined) cache?.put(order, version);
    }
  }
  return { ...result, now };
}

/**
 * Reads the orders that a transaction has traded, in the order of its trades. A damaged row is reported and left out.
 */
export async function readTransaction(transactionHash: Hex, context: ReadContext): Promise<RenderedOrder[]> {
  const { store, clock } = context;
  const trades = await store.chain.trades({ filter: { transactionHash }, limit: MAX_TRADES });
  const uids = [...new Set(trades.reverse().map(({ uid }) => uid))];
  const rows = new Map((await store.orders.get(uids)).map((row) => [row.uid, { ...row, quote: null }]));
  const now = seconds(clock);
  return uids.flatMap((uid) => {
    const row = rows.get(uid);
    const order = row && prepare(row, context);
    return order === undefined ? [] : [renderPrepared(order, now)];
  });
}

/** Upper bound of the number of trades in one block. */
const MAX_TRADES = 10_000;

/** Lists orders, newest first. A damaged row is reported and left out, so that it does not hide the others. */
export async function listOrders(
  query: Omit<OrderQuery, 'status'> & StatusFilter,
  context: ReadContext,
): Promise<RenderedPage> {
  const now = seconds(context.clock);
  const { status, ...filter } = query;
  // One extra row shows whether there is another page.
  const extended = { ...filter, limit: query.limit + 1 };
  const rows = await context.store.orders.list(
    status === undefined ? extended : { ...extended, status: { is: status, now } },
  );
  const page = rows.slice(0, query.limit);
  const orders = page.flatMap((row) => {
    const order = prepare(row, context);
    return order === undefined ? [] : [renderPrepared(order, now)];
  });
  const last = page.at(-1);
  if (last === undefined || rows.length === page.length) return { orders };
  return { orders, next: { creationDate: last.creationDate, uid: last.uid } };
}

interface StatusFilter {
  readonly status?: NonNullable<OrderQuery['status']>['is'];
}

function prepare(row: StoredOrder, { onFailure }: ReadContext): PreparedOrder | undefined {
  try {
    return prepareOrder(row);
  } catch (failure) {
    onFailure(failure);
    return undefined;
  }
}

function toUnreadableOrder({ uid }: StoredOrder): UnreadableOrder {
  return { uid, description: 'the order is stored, but cannot be read' };
}
