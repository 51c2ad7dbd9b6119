import type { Address, Clock, Hex, NewEvent, OrderEventType, StoredEvent } from 'intentbook';
import { getLogEpochStart } from 'intentbook/store-kit';
import { toBytes, toHexText } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** Event log of orders. */
export type EventTable = ReturnType<typeof createEventTable>;

type EventRow = readonly [id: number, type: OrderEventType, uid: Hex, owner: Address, at: number, cause: string | null];

/**
 * @param isExclusive - Whether only this store can write to the log, so that the cached end of the log is valid. A
 * query for it takes longer than the rest of a cached read.
 */
export function createEventTable(session: SqliteSession, isExclusive: () => boolean, clock: Clock) {
  const { prefix: p, prepare, read } = session;
  const insert = prepare(`INSERT INTO ${p}events (id, type, uid, owner, at, cause) VALUES (?, ?, ?, ?, ?, ?)`);
  const newest = prepare(`SELECT coalesce(max(id), 0) FROM ${p}events`).pluck();
  const select = prepare(
    `SELECT id, type, ${toHexText('uid')}, ${toHexText('owner')}, at, cause FROM ${p}events ` +
      'WHERE id > ? AND id <= ? ORDER BY id LIMIT ?',
  ).raw();
  const getEpochStart = createEpochStart(session, 'events', clock);
  let end: number | undefined;

  function newestId(): number {
    if (end === undefined || !isExclusive()) end = newest.get() as number; // an integer, or coalesced to one
    return end;
  }

  /** Appends an event without a cause. Must run within a transaction. */
  function append(type: OrderEventType, uid: Buffer, owner: Buffer, at: number, cause?: NewEvent['cause']): void {
    end = undefined; // the transaction may still be rolled back
    insert.run(getEpochStart(), type, uid, owner, at, cause === undefined ? null : JSON.stringify(cause));
  }

  return {
    /** Appends an event. Must run within a transaction. */
    record: ({ type, uid, owner, at, cause }: NewEvent): void => append(type, toBytes(uid), toBytes(owner), at, cause),
    append,
    /** Returns whether `id` is the newest event. False if only a query could show it. */
    isNewest(id: number): boolean {
      if (end !== id) return false;
      if (isExclusive()) return true;
      end = undefined; // it is not compared with the log again
      return false;
    },
    last: (): number => read('read events', newestId),
    after: (id: number, limit: number): StoredEvent[] =>
      read('read events', () => {
        const last = newestId();
        if (id >= last) return [];
        const rows = select.all(id, last, limit) as EventRow[]; // the columns selected
        return rows.map(([id, type, uid, owner, at, cause]) => {
          const event = { id, type, uid, owner, at };
          return cause === null ? event : { ...event, cause: JSON.parse(cause) };
        });
      }),
  };
}

/**
 * Creates a function that returns the id of an entry which begins a new log epoch, and null for all other entries,
 * whose ids SQLite assigns. It must run within the transaction that appends the entry.
 *
 * @param table - The log without the prefix.
 */
export function createEpochStart(
  { prefix: p, prepare }: SqliteSession,
  table: 'events' | 'account_log',
  clock: Clock,
): () => number | null {
  const isRequested = prepare(`SELECT may_lack_entries FROM ${p}meta`).pluck();
  const newest = prepare(`SELECT coalesce(max(id), 0) FROM ${p}${table}`).pluck();
  const clear = prepare(`UPDATE ${p}meta SET may_lack_entries = 0`);
  // Only a store that is opened begins an epoch. The transaction may be rolled back, so the row is read each time.
  const wasRequested = isRequested.get() === 1;
  return () => {
    if (!wasRequested || isRequested.get() === 0) return null;
    clear.run();
    return getLogEpochStart(newest.get() as number, clock.now()) + 1; // an integer, or coalesced to one
  };
}
