import { memoryStore } from 'intentbook/memory';
import type { OrderCursor, OrderQuery, Store, StoredOrder } from '../../../src/ports/store.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { order } from '../../conformance/orders.ts';
import { NEW_ROW } from './new-row.ts';

/** Returns the UID of the order of an index entry. */
export const uidOf = (n: number): Hex => order(n).uid;

/** Returns the row of an order whose body has only the members that are rendered. */
export function toRow(n: number, creationDate: number): StoredOrder {
  const { uid, sellToken, validTo } = order(n);
  return { ...NEW_ROW, uid, body: JSON.stringify({ uid, sellToken, n }), creationDate, validTo };
}

export interface RecordingStoreOptions {
  /** Number of index entries, numbered from 0, newest first. */
  readonly entries: number;
  /** Entries whose order matches the query, ascending. Default: all. */
  readonly matching?: readonly number[];
  /** Entries whose row is damaged. */
  readonly damaged?: readonly number[];
  /** Whether the store has `scan`, and bodies as bytes. */
  readonly scan?: 'texts' | 'bytes';
  /** Called before each read. */
  readonly onRead?: () => Promise<void> | void;
  readonly traits?: Partial<Store['traits']>;
}

/** A store with index entries in memory. It records its queries, and applies no filter to them. */
export function recordingStore(options: RecordingStoreOptions) {
  const { entries, damaged = [], onRead } = options;
  const matching = options.matching ?? Array.from({ length: entries }, (_, n) => n);
  const lists: OrderQuery[] = [];
  const scans: { readonly query: OrderQuery; readonly examine: number }[] = [];
  const gets: (readonly Hex[])[] = [];
  const inner = memoryStore();

  const read = (n: number) => ({ ...toRow(n, entries - n), ...(damaged.includes(n) ? { version: -1 } : {}) });
  const findStart = ({ after }: OrderQuery) => (after === undefined ? 0 : entries - after.creationDate + 1);
  const cursorOf = (n: number): OrderCursor => ({ creationDate: entries - n, uid: uidOf(n) });

  const store: Store = {
    ...inner,
    traits: { ...inner.traits, verifiesBodies: true, ...options.traits },
    orders: {
      ...inner.orders,
      async get(uids) {
        gets.push(uids);
        await onRead?.();
        return matching.filter((n) => uids.includes(uidOf(n))).map(read);
      },
      async list(query) {
        lists.push(query);
        await onRead?.();
        const { offset = 0, limit } = query;
        if (offset < 0) throw new Error('the offset is negative');
        const start = findStart(query);
        return matching
          .filter((n) => n >= start)
          .slice(offset, offset + limit)
          .map(read);
      },
    },
  };
  // Optional methods of the memory store.
  delete store.orders.getEncoded;
  delete store.orders.scan;
  if (options.scan !== undefined) {
    store.orders.scan = async (query, examine) => {
      scans.push({ query, examine });
      await onRead?.();
      const start = findStart(query);
      const end = Math.min(start + examine, entries);
      const found = matching.filter((n) => n >= start && n < end).slice(0, query.limit);
      const last = found.length === query.limit ? (found.at(-1) ?? end) : end - 1;
      const orders = found.map(read);
      const encoded = orders.map(({ body }) => new TextEncoder().encode(body));
      return {
        orders,
        ...(options.scan === 'bytes' ? { encodedBodies: encoded } : {}),
        ...(last + 1 < entries ? { next: cursorOf(last) } : {}),
      };
    };
  }
  return { store, lists, scans, gets, cursorOf };
}

/** A condition that reads wait for. */
export function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
