import type { Clock } from '../ports/clock.ts';
import { seconds } from '../ports/clock.ts';
import type { OrderCursor, OrderQuery, Store, StoredOrder } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { OrderCache } from './cache.ts';
import type { PreparedOrder, RenderedOrder } from './order-json.ts';
import { prepareOrder, renderPrepared } from './order-json.ts';
import type { GatheredOrders, UnreadableOrder } from './render-by-uids.ts';
import { renderByUids } from './render-by-uids.ts';

/** One of many orders that were asked for. */
export type RenderedResult =
  | { readonly order: RenderedOrder; readonly error?: undefined }
  | { readonly order?: undefined; readonly error: UnreadableOrder };

/** A page of a listing. */
export interface RenderedPage {
  readonly orders: readonly RenderedOrder[];
  /** Where the next page begins; absent when this was the last one. */
  readonly next?: OrderCursor;
}

export interface ReadContext {
  readonly store: Store;
  readonly clock: Clock;
  /** Orders in memory, where that can be exact. */
  readonly cache?: OrderCache;
  /** Told of rows that cannot be read. */
  readonly onFailure: (failure: unknown) => void;
}

/** Reads one order. Rejects when its row is damaged. */
export async function readOrder(uid: Hex, { store, clock, cache }: ReadContext): Promise<RenderedOrder | undefined> {
  const moment = await cache?.follow();
  const kept = cache?.get(uid);
  if (kept !== undefined) return renderPrepared(kept, seconds(clock));
  const [row] = await store.orders.get([uid]);
  if (row === undefined) return undefined;
  const order = prepareOrder(row);
  if (moment !== undefined) cache?.put(order, moment);
  return renderPrepared(order, seconds(clock));
}

/** Reads many orders: each once, unknown ones absent, a damaged one as an error of its own (decision 2.27). */
export async function readOrders(uids: readonly Hex[], context: ReadContext): Promise<RenderedResult[]> {
  const { cached: kept, loaded: fresh, unreadable: damaged, now } = await gather(uids, context);
  const orders = [...kept, ...fresh].map((order) => ({ order: renderPrepared(order, now) }));
  return [...orders, ...damaged.map((error) => ({ error }))];
}

/** The same as one JSON array, in the bytes that by_uids answers with. */
export async function readManyBytes(uids: readonly Hex[], context: ReadContext): Promise<Uint8Array> {
  return renderByUids(await gather(uids, context));
}

async function gather(uids: readonly Hex[], context: ReadContext): Promise<GatheredOrders> {
  const { store, clock, cache } = context;
  const moment = await cache?.follow();
  const gathered = {
    cached: [] as PreparedOrder[],
    loaded: [] as PreparedOrder[],
    unreadable: [] as UnreadableOrder[],
  };
  const missing: Hex[] = [];
  for (const uid of new Set(uids)) {
    const kept = cache?.get(uid);
    if (kept === undefined) missing.push(uid);
    else gathered.cached.push(kept);
  }
  // By one clock, so that no two of them belong to different times.
  const now = seconds(clock);
  if (missing.length === 0) return { ...gathered, now };
  for (const row of await store.orders.get(missing)) {
    const order = prepare(row, context);
    if (order === undefined) gathered.unreadable.push(unreadable(row));
    else {
      gathered.loaded.push(order);
      if (moment !== undefined) cache?.put(order, moment);
    }
  }
  return { ...gathered, now };
}

/** Reads the orders that a transaction has traded, in the order of its trades. A damaged row is told of and left out. */
export async function readTransaction(transactionHash: Hex, context: ReadContext): Promise<RenderedOrder[]> {
  const { store, clock } = context;
  const trades = await store.chain.trades({ filter: { transactionHash }, limit: MOST_TRADES });
  const uids = [...new Set(trades.reverse().map(({ uid }) => uid))];
  const rows = new Map((await store.orders.get(uids)).map((row) => [row.uid, { ...row, quote: null }]));
  const now = seconds(clock);
  return uids.flatMap((uid) => {
    const row = rows.get(uid);
    const order = row && prepare(row, context);
    return order === undefined ? [] : [renderPrepared(order, now)];
  });
}

/** More than fit into a block. */
const MOST_TRADES = 10_000;

/** Lists orders, newest first. A damaged row is told of and left out, so that it does not hide the others. */
export async function listOrders(
  query: Omit<OrderQuery, 'status'> & StatusFilter,
  context: ReadContext,
): Promise<RenderedPage> {
  const now = seconds(context.clock);
  const { status, ...filter } = query;
  // One more than asked for tells whether there is another page.
  const wanted = { ...filter, limit: query.limit + 1 };
  const rows = await context.store.orders.list(
    status === undefined ? wanted : { ...wanted, status: { is: status, now } },
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

function unreadable({ uid }: StoredOrder): UnreadableOrder {
  return { uid, description: 'the order is stored, but cannot be read' };
}
