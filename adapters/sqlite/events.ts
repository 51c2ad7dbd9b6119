import type { Address, Hex, NewEvent, OrderEventType, StoredEvent } from 'intentbook';
import { toBytes, toHexText } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** The log of what happened to orders. */
export interface EventTable {
  /** Within a transaction. */
  record(event: NewEvent): void;
  /** Before the store writes inside a transaction of the host: what is recorded from here on may never be committed. */
  hold(): void;
  last(): number;
  after(id: number, limit: number): StoredEvent[];
}

type EventRow = readonly [id: number, type: OrderEventType, uid: Hex, owner: Address, at: number, cause: string | null];

/**
 * @param isAlone whether nobody but this store can have written to the log, so that its end is where it was last seen or
 * written. Asking the database instead takes longer than all else about a read from memory.
 */
export function createEventTable(session: SqliteSession, isAlone: () => boolean): EventTable {
  const { prefix: p, prepare, read } = session;
  const insert = prepare(`INSERT INTO ${p}events (type, uid, owner, at, cause) VALUES (?, ?, ?, ?, ?)`);
  const newest = prepare(`SELECT coalesce(max(id), 0) FROM ${p}events`).pluck();
  const select = prepare(
    `SELECT id, type, ${toHexText('uid')}, ${toHexText('owner')}, at, cause FROM ${p}events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
  ).raw();
  let held: number | undefined;
  let end: number | undefined;

  function newestId(): number {
    if (end === undefined || !isAlone()) end = newest.get() as number; // an integer, or coalesced to one
    return end;
  }

  /** A handle reads what its own open transaction has written. That must not be shown before it is committed. */
  function ceiling(): number {
    if (!session.inTransaction) held = undefined;
    return held ?? newestId();
  }

  return {
    record({ type, uid, owner, at, cause }) {
      end = undefined; // the transaction may yet be undone
      insert.run(type, toBytes(uid), toBytes(owner), at, cause === undefined ? null : JSON.stringify(cause));
    },
    hold() {
      held ??= newestId();
    },
    last: () => read('read events', ceiling),
    after: (id, limit) =>
      read('read events', () => {
        const last = ceiling();
        if (id >= last) return [];
        const rows = select.all(id, last, limit) as EventRow[]; // the columns selected
        return rows.map(([id, type, uid, owner, at, cause]) => {
          const event = { id, type, uid, owner, at };
          return cause === null ? event : { ...event, cause: JSON.parse(cause) };
        });
      }),
  };
}
