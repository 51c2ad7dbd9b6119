import { type Clock, seconds } from '../ports/clock.ts';
import type { EncodedOrder, Store, StoredOrder } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import { type Allocate, joinArray } from '../protocol/json.ts';
import {
  getOrderStatus,
  type PreparedOrder,
  prepareOrder,
  type RenderedOrder,
  type RenderedResult,
  renderCached,
  renderPrepared,
  type UnreadableOrder,
} from '../records/order-json.ts';
import { requireUid } from '../validation/options.ts';
import type { OrderCache } from './cache.ts';
import { type ElementForm, encodeOrder, encodeOrders, type ReadOrder } from './encode-orders.ts';

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
  const version = cache && (cache.current() ?? (await cache.refresh()));
  const cached = cache?.get(uid);
  if (cached !== undefined) return renderCached(cached, seconds(clock));
  const [row] = await store.orders.get([uid]);
  if (row === undefined) return undefined;
  const order = prepareOrder(row, store.traits.verifiesBodies);
  if (version !== undefined) cache?.put(order, version);
  return renderPrepared(order, seconds(clock));
}

/**
 * Reads many orders: each once, unknown ones absent, a damaged one as an error. See docs/internals/decisions.md#d2-27.
 */
export async function readOrders(uids: readonly string[], context: ReadContext): Promise<RenderedResult[]> {
  const { cached, read, unreadable, now } = await loadOrders(uids, context);
  const orders = [...cached, ...read.map(({ order }) => order)];
  const rendered = orders.map((order) => ({ order: renderPrepared(order, now) }));
  return [...rendered, ...unreadable.map((error) => ({ error }))];
}

interface BytesOptions {
  /** Waits until the store may be read. Default: no wait. */
  readonly waitForStore?: () => Promise<void>;
  /** Returns the memory of the bytes. Default: new memory. */
  readonly allocate?: Allocate | undefined;
}

/** Reads many orders as one JSON array in UTF-8, as the by_uids route returns it. */
export async function readManyBytes(
  uids: readonly string[],
  context: ReadContext,
  { waitForStore, allocate }: BytesOptions = {},
): Promise<Uint8Array> {
  return renderByUids(await loadOrders(uids, context, waitForStore), allocate);
}

/** Number of the last request that has read orders from a cache. */
let requests = 0;

/** @throws OrderBookError `InvalidParameter` if a UID is not valid. */
async function loadOrders(
  uids: readonly string[],
  context: ReadContext,
  waitForStore?: () => Promise<void>,
): Promise<LoadedOrders> {
  const { store, clock, cache } = context;
  const version = cache && (cache.current() ?? (await cache.refresh()));
  const cached: PreparedOrder[] = [];
  const read: ReadOrder[] = [];
  const unreadable: UnreadableOrder[] = [];
  const missing = new Set<Hex>();
  const request = ++requests;
  for (const text of uids) {
    // The UIDs of the cache are valid, so a text that is found there needs no check. A body may contain other values.
    let order = typeof text === 'string' ? cache?.get(text) : undefined;
    if (order === undefined) {
      const uid = requireUid(text);
      if (uid !== text) order = cache?.get(uid);
      if (order === undefined) missing.add(uid);
    }
    if (order === undefined || order.request === request) continue;
    order.request = request;
    cached.push(order);
  }
  if (missing.size > 0) await waitForStore?.();
  // Read once, so that all statuses are derived from the same time.
  const now = seconds(clock);
  if (missing.size === 0) return { cached, read, unreadable, now };
  for (const { order: row, encodedBody } of await readEncoded(store, [...missing])) {
    const order = prepareStoredOrder(row, context);
    if (order === undefined) unreadable.push(toUnreadableOrder(row));
    else {
      read.push({ order, encodedBody });
      if (version !== undefined) cache?.put(order, version);
    }
  }
  return { cached, read, unreadable, now };
}

async function readEncoded({ orders }: Store, uids: readonly Hex[]): Promise<readonly EncodedOrder[]> {
  return orders.getEncoded === undefined
    ? (await orders.get(uids)).map((order) => ({ order, encodedBody: undefined }))
    : orders.getEncoded(uids);
}

/** Prepares a row for rendering. A damaged row is reported. */
export function prepareStoredOrder(row: StoredOrder, { store, onFailure }: ReadContext): PreparedOrder | undefined {
  try {
    return prepareOrder(row, store.traits.verifiesBodies);
  } catch (failure) {
    onFailure(failure);
    return undefined;
  }
}

function toUnreadableOrder({ uid }: StoredOrder): UnreadableOrder {
  return { uid, description: 'the order is stored, but cannot be read' };
}

/** The orders of one request for many UIDs. */
interface LoadedOrders {
  /** Orders of the cache. */
  readonly cached: readonly PreparedOrder[];
  /** Orders read from the store. */
  readonly read: readonly ReadOrder[];
  readonly unreadable: readonly UnreadableOrder[];
  /** Seconds since 1970; determines the statuses. */
  readonly now: number;
}

const FORM: ElementForm = { before: ',{"order":', after: '}' };

/**
 * Renders orders as the JSON array of `POST /api/v1/orders/by_uids`, in UTF-8.
 *
 * @param allocate - Returns the memory of the array. Default: new memory.
 */
export function renderByUids({ cached, read, unreadable, now }: LoadedOrders, allocate?: Allocate): Uint8Array {
  const chunks = cached.map((order) => encodeElement(order, now));
  if (read.length > 0 || unreadable.length > 0) {
    const errors = unreadable.map((error) => `,${JSON.stringify({ error })}`).join('');
    chunks.push(...encodeOrders(read, FORM, now, errors));
  }
  return joinArray(chunks, allocate);
}

/** Returns the element of a cached order. It is encoded again only after its status has changed. */
function encodeElement(order: PreparedOrder, now: number): Uint8Array {
  const status = getOrderStatus(order, now);
  if (order.element?.status !== status) order.element = { status, bytes: encodeOrder(order, status, FORM) };
  return order.element.bytes;
}
