import type { OrderStore, StoredEvent } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { selectAccountEntries } from '../records/account-entries.ts';
import { type EventLog, findGapEnd } from '../records/event-log.ts';
import type { RenderedResult } from '../records/order-json.ts';
import type { StreamLog } from './broadcaster.ts';
import type { StreamItem } from './stream.ts';

/** Log entries of a page. Their orders are read, rendered and written to a client in one tick of the event loop. */
const PAGE_SIZE = 128;

/** The key of subscribers to all orders. */
export const ALL_ORDERS = 'all';
export const toUidKey = (uid: string) => `${UID_KEY}${uid}`;
export const toOwnerKey = (owner: string) => `${OWNER_KEY}${owner}`;
const UID_KEY = 'uid ';
const OWNER_KEY = 'owner ';

/** How the stream log reads orders. */
export interface OrderLogReads {
  read(uids: readonly Hex[]): Promise<readonly RenderedResult[]>;
  /** Returns those of `uids` that an account has placed on chain. */
  readonly filterPlaced: OrderStore['filterPlaced'];
}

/**
 * Creates the stream log of a book's orders: each entry with the order in its current state. An order that was deleted
 * with the block that had placed it becomes `withdrawn`.
 */
export function orderLog(log: EventLog, { read, filterPlaced }: OrderLogReads): StreamLog {
  /** Returns the entries that concern the subscribers of a key, before any order is read. */
  async function select(events: readonly StoredEvent[], key: string): Promise<readonly StoredEvent[]> {
    if (key === ALL_ORDERS) return events;
    if (key.startsWith(UID_KEY)) return events.filter(({ uid }) => key === toUidKey(uid));
    const account = key.slice(OWNER_KEY.length) as Address; // composed by `toOwnerKey`
    return selectAccountEntries(events, account, filterPlaced);
  }

  async function render(events: readonly StoredEvent[]) {
    const uids = new Set(events.map(({ uid }) => uid));
    const results = uids.size === 0 ? [] : await read([...uids]);
    const texts = new Map(results.flatMap(({ order }) => (order === undefined ? [] : [[order.uid, order.json]])));
    const unreadable = new Set(results.flatMap(({ error }) => (error === undefined ? [] : [error.uid])));
    const items: StreamItem[] = [];
    const keysOf: string[][] = [];
    for (const { id, uid, owner, cause } of events) {
      if (unreadable.has(uid)) continue; // the read has emitted the failure
      const json = texts.get(uid);
      const user = json === undefined ? cause?.onchainUser : ONCHAIN_USER.exec(json)?.[1];
      items.push(
        json === undefined
          ? { type: 'item', id, event: 'withdrawn', data: JSON.stringify({ id: uid }) }
          : { type: 'item', id, event: 'order', data: json },
      );
      const keys = [ALL_ORDERS, toUidKey(uid), toOwnerKey(owner)];
      if (user !== undefined && user !== owner) keys.push(toOwnerKey(user));
      keysOf.push(keys);
    }
    return { items, keysOf };
  }

  return {
    pageSize: PAGE_SIZE,
    last: log.last,
    prunedThrough: log.prunedThrough,
    watch: log.watch,
    async follow(after, keys) {
      const events = await log.after(after, PAGE_SIZE);
      // Subscribers by UID need only their orders. An owner is not known before the order is read.
      const hasOwnerKeys = [...keys].some((key) => !key.startsWith(UID_KEY));
      const relevant = events.filter(({ uid }) => hasOwnerKeys || keys.has(toUidKey(uid)));
      const through = events.at(-1)?.id ?? after;
      return { ...(await render(relevant)), through, gapEnd: findGapEnd(after, events) };
    },
    async resume(after, key) {
      const events = await log.after(after, PAGE_SIZE);
      const { items, keysOf } = await render(await select(events, key));
      return { items: items.filter((_, i) => keysOf[i]?.includes(key)), through: events.at(-1)?.id ?? after };
    },
  };
}

/** Matches the member in rendered JSON. Inside a JSON string its quotes would be escaped. */
const ONCHAIN_USER = /"onchainUser":"(0x[0-9a-f]{40})"/;
