import type { EventStore } from '../ports/store.ts';
import type { PreparedOrder } from './order-json.ts';

/** Orders in memory, prepared for being rendered. What is in it is what the store has, always. */
export interface OrderCache {
  /**
   * Follows the store's log and drops what has changed. What is read from the cache after this, and before anything else
   * is waited for, is as new as the store was when it was asked.
   *
   * @returns a moment in the log.
   */
  follow(): Promise<Moment>;
  get(uid: string): PreparedOrder | undefined;
  /** Keeps an order that was read from the store after `moment`, unless the log has moved on since. */
  put(order: PreparedOrder, moment: Moment): void;
  /** Forgets everything, for when the store is closed. */
  clear(): void;
}

/** A place in the log, between two times that everything was forgotten: the same place is another moment after that. */
export interface Moment {
  readonly id: number;
}

interface Entry {
  readonly order: PreparedOrder;
  /** Whether it was read since it came, or since it was spared. Noting that is cheaper than moving it at each read. */
  used: boolean;
}

/** How far the log is followed entry by entry. Further behind, starting over is cheaper. */
const FARTHEST = 500;

/** What an entry costs besides its text: the object, the places in the map, the strings' own headers. */
const OVERHEAD = 400;

/**
 * Makes a cache that keeps at most `bytes` of prepared text: what is read again is spared, what is not makes room. It is exact, because a single writer logs
 * every change of an order, and everybody who reads from here has followed the log first. An order whose document is not
 * known is not kept: the document may come without a change of the order.
 */
export function createOrderCache(events: Pick<EventStore, 'after' | 'last'>, bytes: number): OrderCache {
  const entries = new Map<string, Entry>(); // in the order of their arrival, or of their second chance
  let moment: Moment = { id: -1 };
  let size = 0;

  function drop(uid: string): void {
    const entry = entries.get(uid);
    if (entry === undefined) return;
    entries.delete(uid);
    size -= sizeOf(entry.order);
  }

  function clear(): void {
    entries.clear();
    size = 0;
    moment = { id: -1 };
  }

  return {
    async follow() {
      const changes = moment.id < 0 ? undefined : await events.after(moment.id, FARTHEST);
      if (changes === undefined || changes.length === FARTHEST) {
        const last = await events.last();
        if (last > moment.id) {
          clear();
          moment = { id: last };
        }
        return moment;
      }
      for (const { id, uid } of changes) {
        drop(uid);
        if (id > moment.id) moment = { id }; // others may have followed meanwhile
      }
      return moment;
    },
    get(uid) {
      const entry = entries.get(uid);
      if (entry === undefined) return undefined;
      entry.used = true;
      return entry.order;
    },
    put(order, since) {
      if (since !== moment || order.bare) return;
      drop(order.uid);
      entries.set(order.uid, { order, used: false });
      size += sizeOf(order);
      for (const [uid, entry] of entries) {
        if (size <= bytes) break;
        if (entry.used) {
          entry.used = false;
          entries.delete(uid);
          entries.set(uid, entry); // at the end, where the loop comes by again
        } else drop(uid);
      }
    },
    clear,
  };
}

/** In bytes. All of it is kept twice, as text and encoded; what follows the body may hold any letters, of two bytes each. */
function sizeOf({ uid, head, middle, tail, quote }: PreparedOrder): number {
  const quoted = quote === null ? 0 : quote.body.length + quote.metadata.length;
  return uid.length + 2 * (head.length + middle.length) + 3 * tail.length + 2 * quoted + OVERHEAD;
}
