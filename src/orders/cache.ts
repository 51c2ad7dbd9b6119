import type { EventStore } from '../ports/store.ts';
import type { PreparedOrder } from './wire.ts';

/** Orders in memory, prepared for being rendered. What is in it is what the store has, always. */
export interface OrderCache {
  /**
   * Follows the store's log and drops what has changed. What is read from the cache after this, and before anything else
   * is waited for, is as new as the store was when it was asked.
   *
   * @returns a moment in the log.
   */
  follow(): Promise<number>;
  get(uid: string): PreparedOrder | undefined;
  /** Keeps an order that was read from the store after `moment`, unless the log has moved on since. */
  put(order: PreparedOrder, moment: number): void;
  /** Forgets everything, for when the store is closed. */
  clear(): void;
}

/** How far the log is followed entry by entry. Further behind, starting over is cheaper. */
const FARTHEST = 500;

/** What an entry costs besides its text: the object, the places in the map, the strings' own headers. */
const OVERHEAD = 400;

/**
 * Makes a cache that keeps at most `bytes` of prepared text, those used last. It is exact, because a single writer logs
 * every change of an order, and everybody who reads from here has followed the log first. An order whose document is not
 * known is not kept: the document may come without a change of the order.
 */
export function createOrderCache(events: Pick<EventStore, 'after' | 'last'>, bytes: number): OrderCache {
  const entries = new Map<string, PreparedOrder>(); // in the order of their use
  let moment = -1;
  let size = 0;

  function drop(uid: string): void {
    const order = entries.get(uid);
    if (order === undefined) return;
    entries.delete(uid);
    size -= sizeOf(order);
  }

  function clear(): void {
    entries.clear();
    size = 0;
    moment = -1;
  }

  return {
    async follow() {
      const changes = moment < 0 ? undefined : await events.after(moment, FARTHEST);
      if (changes === undefined || changes.length === FARTHEST) {
        const last = await events.last();
        if (last > moment) {
          clear();
          moment = last;
        }
        return moment;
      }
      for (const { id, uid } of changes) {
        drop(uid);
        if (id > moment) moment = id; // others may have followed meanwhile
      }
      return moment;
    },
    get(uid) {
      const order = entries.get(uid);
      if (order === undefined) return undefined;
      entries.delete(uid);
      entries.set(uid, order);
      return order;
    },
    put(order, since) {
      if (since !== moment || order.bare) return;
      drop(order.uid);
      entries.set(order.uid, order);
      size += sizeOf(order);
      for (const [uid] of entries) {
        if (size <= bytes) break;
        drop(uid);
      }
    },
    clear,
  };
}

/** In bytes. The body of an order is Latin text; what follows it may hold any, which takes two bytes a letter. */
function sizeOf({ uid, head, tail, quote }: PreparedOrder): number {
  const quoted = quote === null ? 0 : quote.body.length + quote.metadata.length;
  return uid.length + head.length + 2 * (tail.length + quoted) + OVERHEAD;
}
