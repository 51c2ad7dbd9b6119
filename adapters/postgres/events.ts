import type { Hex, NewEvent, OrderEventType, StoredEvent } from 'intentbook';
import { getErrorCode } from './database-driver.ts';
import { getEpochStart, getSystem, TIMELINE, XID } from './log-epoch.ts';
import type { Query } from './query.ts';
import { EVENT_TYPES, getOwner, toByteArray, toKey, toNumberArray, toUid } from './rows.ts';
import type { PostgresSession } from './session.ts';

type EventRow = readonly [id: number, type: number, key: Hex, at: number, cause: string | null];

/**
 * Creates the event log. An event is written once, with the id of its transaction. Its id in the log is determined by a
 * row of `log`: one for each transaction that has events, with the last id and the number of events.
 *
 * The function `number_events` adds these rows, for all transactions that were committed since the previous call. It
 * finds them by the snapshot of the previous call: their ids are not below its end, or were in progress then. So an
 * open transaction of another application delays no event, and nothing is updated or deleted, so that a held snapshot
 * does not slow it down.
 *
 * Every id belongs to a committed event, and ids of a log epoch have no gaps. Transactions are in the order of their
 * last events. A writer of an owner's orders waits for the previous one, so each event comes after all events that its
 * transaction could have seen.
 *
 * A promoted standby, or a restored backup, may lack events that have been read. It therefore begins a new log epoch.
 * The rows of `log_epochs` have the id after which each epoch begins, and identify the server, its timeline, and the
 * transaction that inserted them: see log-epoch.ts.
 *
 * @param hint - The channel of notifications, and the text that identifies those of this process. Without a channel,
 * other processes are not notified.
 * @param onRead - Called after events have been read, before they are returned.
 */
export function createEventTable(
  { schema: s, prepare, call }: PostgresSession,
  { channel, signature }: { readonly channel: string | null; readonly signature: string },
  onRead: (run: Query) => Promise<void> = async () => {},
) {
  const number = prepare<readonly [number]>(`SELECT ${s}.number_events($1, $2)`);
  const select = prepare<EventRow>(`SELECT * FROM ${s}.read_events($1, $2, $3, $4)`);

  /** Runs a statement that may notify. If the server cannot, other processes find the events by polling. */
  async function readEvents<T>(work: (run: Query, to: string | null) => Promise<T>): Promise<T> {
    const read = (to: string | null) => call('read events', (run) => work(run, to), { repeatable: true });
    try {
      return await read(channel);
    } catch (failure) {
      if (channel === null || !isQueueFull(failure)) throw failure;
      return read(null);
    }
  }

  return {
    last: (): Promise<number> => readEvents(async (run, to) => (await run(number, to, signature))[0]?.[0] ?? 0),
    after: (id: number, limit: number): Promise<StoredEvent[]> =>
      readEvents(async (run, to) => {
        const rows = await run(select, id, limit, to, signature);
        if (rows.length > 0) await onRead(run);
        return rows.map(readEvent);
      }),
  };
}

/** Creates a function that appends events within a transaction, and returns their ordinals. */
export function createEventRecorder({ schema: s, prepare }: PostgresSession) {
  const insert = prepare<readonly [ordinal: number]>(
    `INSERT INTO ${s}.events (xid, type, key, at, cause) SELECT ${XID}, type, key, at, cause FROM ` +
      'unnest($1::smallint[], $2::bytea[], $3::bigint[], $4::text[]) WITH ORDINALITY ' +
      'e (type, key, at, cause, ordinal) ORDER BY e.ordinal RETURNING events.ordinal',
  );
  return async (run: Query, events: readonly NewEvent[]): Promise<readonly number[]> => {
    const rows = await run(
      insert,
      toNumberArray(events.map(({ type }) => EVENT_TYPES.indexOf(type))),
      toByteArray(events.map(({ uid }) => toKey(uid))),
      toNumberArray(events.map(({ at }) => at)),
      events.map(({ cause }) => (cause === undefined ? null : JSON.stringify(cause))),
    );
    return rows.map(([ordinal]) => ordinal);
  };
}

/**
 * Returns whether a commit failed because the server's queue of notifications is full. A listener of any application
 * fills it with a transaction that it leaves open.
 */
const isQueueFull = (failure: unknown) => failure instanceof Error && getErrorCode(failure.cause) === '54000';

function readEvent([id, type, key, at, cause]: EventRow): StoredEvent {
  const uid = toUid(key);
  const event = { id, type: getType(type), uid, owner: getOwner(uid), at };
  return cause === null ? event : { ...event, cause: JSON.parse(cause) };
}

function getType(code: number): OrderEventType {
  const type = EVENT_TYPES[code];
  if (type === undefined) throw new Error(`the log contains the unknown event type ${code}`);
  return type;
}

/** Maximum number of rows that a statement moves, so that it ends within its time limit. */
const MOVED_ROWS = 100_000;

/** Subtracts an offset from the transaction ids of a table, in steps along an indexed column. */
async function moveTransactions(run: Query, table: string, column: string, offset: string | undefined): Promise<void> {
  const find = {
    text:
      `SELECT t.${column}::text FROM ${table} t WHERE t.${column} > $1::bigint ` +
      `ORDER BY t.${column} OFFSET ${MOVED_ROWS} LIMIT 1`,
  };
  const move = {
    text: `UPDATE ${table} SET xid = xid - $1::bigint WHERE ${column} > $2::bigint AND ${column} <= $3::bigint`,
  };
  // Moved ids are smaller than all that remain, so that no row is moved twice.
  let from = String(-(2n ** 63n));
  for (;;) {
    const [row] = await run<readonly [string]>(find, from);
    const to = row?.[0] ?? String(2n ** 63n - 1n);
    await run(move, offset, from, to);
    if (row === undefined) return;
    from = to;
  }
}

/**
 * Compares the database with the one in which the log was written. After a restore from a dump, readers may have seen
 * entries that the dump lacks, and the server may assign transaction ids again that the log already contains. Those of
 * the log are then moved below all new ones, and a new log epoch begins.
 */
export async function adoptLog({ schema: s, read, write }: PostgresSession): Promise<void> {
  const system = getSystem(`${s}.events`);
  const newestId = `greatest(max(start), (SELECT max(last) FROM ${s}.log))`;
  const find = { text: `SELECT system, ${system} FROM ${s}.log_epochs ORDER BY start DESC LIMIT 1` };
  const [row] = await read('open', (run) => run<readonly [recorded: string, current: string]>(find));
  if (row !== undefined && row[0] === row[1]) return;
  await write('adopt the event log', async (run) => {
    await run({ text: `SELECT 1 FROM ${s}.log_lock WHERE id = 1 FOR UPDATE` });
    const [newest] = await run<readonly [string, string]>(find);
    if (newest !== undefined && newest[0] === newest[1]) return;
    if (newest !== undefined && newest[0] !== '') {
      const offset = `(SELECT coalesce(max(xid), 0) + 1 FROM ${s}.events)`;
      const [moved] = await run<readonly [string]>({ text: `SELECT ${offset}::text` });
      await moveTransactions(run, `${s}.events`, 'xid', moved?.[0]);
      await moveTransactions(run, `${s}.log`, 'last', moved?.[0]);
      // Tables that a dump has restored have no statistics, by which the planner would compare each pair of rows.
      await run({ text: 'SET LOCAL enable_nestloop = off' });
      await run({
        text:
          `INSERT INTO ${s}.log (last, size, xid) SELECT l.last + sum(u.n) OVER (ORDER BY u.o), u.n, u.xid ` +
          `FROM (SELECT xid, count(*) AS n, max(ordinal) AS o FROM ${s}.events e ` +
          `WHERE NOT EXISTS (SELECT FROM ${s}.log x WHERE x.xid = e.xid) GROUP BY xid) u, ` +
          `(SELECT coalesce(max(last), 0) AS last FROM ${s}.log) l`,
      });
      await run({
        text: `UPDATE ${s}.log SET snapshot = '1:1:' WHERE last = (SELECT max(last) FROM ${s}.log)`,
      });
    }
    await run({
      text:
        `INSERT INTO ${s}.log_epochs (start, xid, system, timeline) SELECT ` +
        `CASE WHEN ${newestId} IS NULL THEN 0 ELSE ${getEpochStart(newestId)} END, ${XID}, ${system}, ${TIMELINE} ` +
        `FROM ${s}.log_epochs`,
    });
  });
}
