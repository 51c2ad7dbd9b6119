import { type Clock, seconds } from '../ports/clock.ts';
import type { EncodedOrder, EventStore, Store, StoredOrder } from '../ports/store.ts';
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

/** A cache of prepared orders. Its contents always equal the store's. */
export type OrderCache = ReturnType<typeof createOrderCache>;

/** A position in the log. Compared by identity: after `clear`, the same position is another version. */
export interface CacheVersion {
  readonly id: number;
}

/** Maximum number of log entries to process. If there are more, clearing the cache is cheaper. */
const MAX_LOG_ENTRIES = 500;

/** Memory of an entry in bytes besides its text: the object, the map slots, the string headers. */
const ENTRY_OVERHEAD = 400;

/**
 * Creates a cache of at most `bytes` of prepared text. It is exact: a single writer logs every change of an order, and
 * every read processes the log first. An order whose document is missing is not cached, because the document can be
 * added without a log entry for the order.
 */
export function createOrderCache(events: Pick<EventStore, 'after' | 'last' | 'isNewest'>, bytes: number) {
  const entries = createEntries(bytes);
  let version: CacheVersion = { id: -1 };
  let pauses = 0;

  function clear(): void {
    entries.clear();
    version = { id: -1 };
  }

  return {
    /**
     * Reads new log entries of the store and drops the orders that have changed. A synchronous read of the cache after
     * this call is as recent as the store was at the time of the call.
     *
     * @returns The version of the cache.
     */
    async refresh(): Promise<CacheVersion> {
      const changes = version.id < 0 ? undefined : await events.after(version.id, MAX_LOG_ENTRIES);
      // A later first entry follows deleted ones.
      if (changes === undefined || changes.length === MAX_LOG_ENTRIES || (changes[0]?.id ?? 0) > version.id + 1) {
        const last = await events.last();
        if (last > version.id) {
          clear();
          version = { id: last };
        }
        return version;
      }
      for (const { id, uid } of changes) {
        entries.remove(uid);
        if (id > version.id) version = { id }; // a concurrent call may have advanced it already
      }
      return version;
    },
    /** Returns the version if the store shows without a read that the log has no new entry. */
    current(): CacheVersion | undefined {
      return version.id >= 0 && events.isNewest?.(version.id) === true ? version : undefined;
    },
    get(uid: string): PreparedOrder | undefined {
      return pauses > 0 ? undefined : entries.use(uid);
    },
    /** Adds an order that was read from the store after `version`, unless the log has advanced since. */
    put(order: PreparedOrder, since: CacheVersion): void {
      if (since !== version || order.lacksDocument || pauses > 0) return;
      entries.put(order);
    },
    /**
     * Pauses the cache during a change that the log does not show. It finds and keeps no orders until the returned
     * function is called.
     *
     * @returns A function that ends the pause. With `isChanged`, it also drops all entries.
     */
    pause(): (isChanged: boolean) => void {
      pauses++;
      return (isChanged) => {
        pauses--;
        // A read that began during the pause is not kept either.
        if (isChanged) clear();
      };
    },
    /** Drops orders whose rows have changed without a log entry. */
    forget(uids: readonly string[]): void {
      uids.forEach(entries.remove);
      // A read that began before the change is not kept.
      version = { id: version.id };
    },
    clear,
  };
}

/** Creates the entries of a cache of at most `bytes`, with the CLOCK (second chance) replacement algorithm. */
function createEntries(bytes: number) {
  const entries = new Map<number, PreparedOrder>(); // in insertion order; a second chance moves an order to the end
  let size = 0;

  function find(uid: string): PreparedOrder | undefined {
    const order = entries.get(toKey(uid));
    return order?.uid === uid ? order : undefined;
  }

  function drop(key: number, order: PreparedOrder): void {
    entries.delete(key);
    size -= getSize(order);
  }

  return {
    use(uid: string): PreparedOrder | undefined {
      const order = find(uid);
      if (order !== undefined) order.used = true;
      return order;
    },
    put(order: PreparedOrder): void {
      const added = toKey(order.uid);
      const previous = entries.get(added); // of this order, or of another one with the same key
      if (previous !== undefined) drop(added, previous);
      entries.set(added, order);
      size += getSize(order);
      for (const [key, each] of entries) {
        if (size <= bytes) break;
        if (each.used) {
          each.used = false;
          entries.delete(key);
          entries.set(key, each); // at the end, where this loop reaches it again
        } else drop(key, each);
      }
    },
    remove(uid: string): void {
      const order = find(uid);
      if (order !== undefined) drop(toKey(uid), order);
    },
    clear(): void {
      entries.clear();
      size = 0;
    },
  };
}

/**
 * Returns the first 32 bits of a UID, which begins with a hash. Reading eight characters is cheaper than computing the
 * hash of 114. Two orders with one key are very rare; the cache holds the one that was added last.
 */
function toKey(uid: string): number {
  let key = 0;
  for (let i = 2; i < 10; i++) {
    const code = uid.charCodeAt(i);
    key = (key << 4) | ((code & 15) + (code >> 6) * 9);
  }
  return key;
}

/**
 * Returns the size of an entry in bytes. Its text is counted twice, as string and encoded, and its quote a third time.
 * The strings of `tail` and `quote` may need two bytes per character.
 */
function getSize({ uid, head, middle, tail, quote }: PreparedOrder): number {
  const quoted = quote === null ? 0 : quote.body.length + quote.metadata.length;
  return uid.length + 2 * (head.length + middle.length) + 3 * tail.length + 5 * quoted + ENTRY_OVERHEAD;
}
