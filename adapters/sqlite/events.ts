import type { OrderEventType, StoredEvent } from 'intentbook';
import { toHex } from './rows.ts';
import type { Session } from './session.ts';

/** The log of what happened to orders. */
export interface Events {
  /** Within a transaction. */
  record(type: OrderEventType, uid: Buffer, owner: Buffer, at: number): void;
  /** Before the store writes inside a transaction of the host: what is recorded from here on may never be committed. */
  hold(): void;
  last(): number;
  after(id: number, limit: number): StoredEvent[];
}

type EventRow = readonly [id: number, type: OrderEventType, uid: Buffer, owner: Buffer, at: number];

export function eventsOf(session: Session): Events {
  const { prefix: p, prepare, read } = session;
  const insert = prepare(`INSERT INTO ${p}events (type, uid, owner, at) VALUES (?, ?, ?, ?)`);
  const newest = prepare(`SELECT coalesce(max(id), 0) FROM ${p}events`).pluck();
  const select = prepare(
    `SELECT id, type, uid, owner, at FROM ${p}events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
  ).raw();
  let held: number | undefined;

  const newestId = () => newest.get() as number; // an integer, or coalesced to one

  /** A handle reads what its own open transaction has written. That must not be shown before it is committed. */
  function ceiling(): number {
    if (!session.inTransaction) held = undefined;
    return held ?? newestId();
  }

  return {
    record: (type, uid, owner, at) => void insert.run(type, uid, owner, at),
    hold() {
      held ??= newestId();
    },
    last: () => read('read events', ceiling),
    after: (id, limit) =>
      read('read events', () => {
        const rows = select.all(id, ceiling(), limit) as EventRow[]; // the columns selected
        return rows.map(([id, type, uid, owner, at]) => ({ id, type, uid: toHex(uid), owner: toHex(owner), at }));
      }),
  };
}
