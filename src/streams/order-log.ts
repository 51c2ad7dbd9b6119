import type { RenderedResult } from '../orders/read.ts';
import type { EventStore, StoredEvent } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { StreamItem, StreamLog } from './broadcaster.ts';

/** The event log of a book. */
export interface EventLog {
  /** Returns the id of the newest entry. 0 for an empty log. */
  last(): Promise<number>;
  /** Returns at most `limit` entries with an id above `id`, in the order of their ids. */
  after(id: number, limit: number): Promise<StoredEvent[]>;
  /** Calls `onEntries` when the log may have new entries; calls may be repeated. Returns a function that removes it. */
  watch(onEntries: () => void): () => void;
}

/** Creates the log of a book. `assertStarted` throws a `StoreError` `Closed` unless the book is started. */
export function createEventLog(events: EventStore, watch: EventLog['watch'], assertStarted: () => void): EventLog {
  return {
    async last() {
      assertStarted();
      return events.last();
    },
    async after(id, limit) {
      assertStarted();
      return events.after(id, limit);
    },
    watch,
  };
}

const BATCH = 500;

/** What every entry concerns. */
export const OF_ALL = 'all';
export const ofUid = (uid: string) => `uid ${uid}`;
export const ofOwner = (owner: string) => `owner ${owner}`;

/**
 * A book's log as its readers follow it: each entry with the order as it is now. An order that is gone with the block that
 * had placed it is told as `withdrawn`.
 */
export function orderLog(log: EventLog, read: (uids: readonly Hex[]) => Promise<readonly RenderedResult[]>): StreamLog {
  async function render(events: readonly StoredEvent[]) {
    const results = events.length === 0 ? [] : await read(events.map(({ uid }) => uid));
    const texts = new Map(results.flatMap(({ order }) => (order === undefined ? [] : [[order.uid, order.json]])));
    const unreadable = new Set(results.flatMap(({ error }) => (error === undefined ? [] : [error.uid])));
    const items: StreamItem[] = [];
    const keysOf: string[][] = [];
    for (const { id, uid, owner } of events) {
      if (unreadable.has(uid)) continue; // told as a failure by whoever has read it
      const json = texts.get(uid);
      const user = json === undefined ? undefined : ONCHAIN_USER.exec(json)?.[1];
      items.push(
        json === undefined
          ? { type: 'item', id, event: 'withdrawn', data: JSON.stringify({ id: uid }) }
          : { type: 'item', id, event: 'order', data: json },
      );
      keysOf.push([
        OF_ALL,
        ofUid(uid),
        ofOwner(owner),
        ...(user === undefined || user === owner ? [] : [ofOwner(user)]),
      ]);
    }
    return { items, keysOf };
  }

  return {
    last: log.last,
    watch: log.watch,
    async follow(after, keys) {
      const events = await log.after(after, BATCH);
      // Only who asks for single orders needs none but these.
      const broad = [...keys].some((key) => !key.startsWith('uid '));
      const wanted = events.filter(({ uid }) => broad || keys.has(ofUid(uid)));
      return { ...(await render(wanted)), through: events.at(-1)?.id ?? after };
    },
    async resume(after, key) {
      const events = await log.after(after, BATCH);
      const wanted = events.filter(({ uid }) => !key.startsWith('uid ') || key === ofUid(uid));
      const { items, keysOf } = await render(wanted);
      return { items: items.filter((_, i) => keysOf[i]?.includes(key)), through: events.at(-1)?.id ?? after };
    },
  };
}

/** Inside a string of the JSON the quotes would be escaped. */
const ONCHAIN_USER = /"onchainUser":"(0x[0-9a-f]{40})"/;
