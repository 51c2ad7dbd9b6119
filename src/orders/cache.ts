import type { EventStore } from '../ports/store.ts';
import type { PreparedOrder } from '../records/order-json.ts';

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
