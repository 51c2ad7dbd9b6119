import type { Address, Hex, OrderEventType, StoredEvent } from 'intentbook';
import type { Query } from './query.ts';
import type { PostgresSession } from './session.ts';

/** Event log of orders. */
export interface PgEventTable {
  last(): Promise<number>;
  after(id: number, limit: number): Promise<StoredEvent[]>;
}

type EventRow = readonly [id: number, type: OrderEventType, uid: Hex, owner: Address, at: number, cause: string | null];

/**
 * Creates the event log, which is written in two steps. A transaction that changes orders appends its events to a
 * queue, where no writer waits for another, even if the transaction of a host stays open for long. A reader of the log
 * then moves the committed events from the queue to the log and numbers them, one reader at a time.
 *
 * Therefore every number belongs to a committed event, and numbers have no gaps. Each event comes after all events that
 * its transaction could have seen.
 *
 * @param onNumbered - Called after events have been numbered.
 * @param onRead - Called after events have been read, before they are returned.
 */
export function createEventTable(
  session: PostgresSession,
  onNumbered: () => Promise<void>,
  onRead: (run: Query) => Promise<void> = async () => {},
): PgEventTable {
  const { schema: s, prepare, read } = session;
  const queued = prepare(`SELECT 1 FROM ${s}.event_queue LIMIT 1`);
  const newest = prepare<readonly [number]>(`SELECT last FROM ${s}.event_ids`);
  const select = prepare<EventRow>(
    `SELECT id, type, uid, owner, at, cause FROM ${s}.events WHERE id > $1 ORDER BY id LIMIT $2`,
  );
  // The first statement waits for a concurrent numbering; the second sees everything committed by then. Events keep the
  // order of the queue. Changes of one owner's orders hold a lock, so their events are in order there.
  const numbering = [
    `SELECT 1 FROM ${s}.event_ids FOR UPDATE`,
    `WITH moved AS (DELETE FROM ${s}.event_queue WHERE ordinal = ANY(ARRAY` +
      `(SELECT ordinal FROM ${s}.event_queue ORDER BY ordinal LIMIT ${MAX_BATCH})) ` +
      'RETURNING ordinal, at, type, uid, owner, cause) ' +
      `INSERT INTO ${s}.events (id, at, type, uid, owner, cause) SELECT c.last + row_number() OVER (ORDER BY m.ordinal), ` +
      `m.at, m.type, m.uid, m.owner, m.cause FROM moved m CROSS JOIN ${s}.event_ids c`,
    `UPDATE ${s}.event_ids SET last = greatest(last, (SELECT max(id) FROM ${s}.events))`,
  ];
  let running: Promise<number> | undefined;

  /** Numbers all events that were committed before the call. */
  async function numberEvents(): Promise<void> {
    for (;;) {
      if (running !== undefined) {
        // The running batch may have started before this caller's events were committed.
        await running;
        continue;
      }
      if ((await read('read events', (run) => run(queued))).length === 0) return;
      if (running !== undefined) continue;
      running = moveBatch().finally(() => {
        running = undefined;
      });
      if ((await running) < MAX_BATCH) return;
    }
  }

  async function moveBatch(): Promise<number> {
    const [, moved = 0] = await session.script('number events', numbering);
    if (moved > 0) await onNumbered();
    return moved;
  }

  return {
    async last() {
      await numberEvents();
      return (await read('read events', (run) => run(newest)))[0]?.[0] ?? 0;
    },
    async after(id, limit) {
      await numberEvents();
      const rows = await read('read events', async (run) => {
        const page = await run(select, id, limit);
        if (page.length > 0) await onRead(run);
        return page;
      });
      return rows.map(([id, type, uid, owner, at, cause]) => {
        const event = { id, type, uid, owner, at };
        return cause === null ? event : { ...event, cause: JSON.parse(cause) };
      });
    },
  };
}

/** Maximum number of events that one transaction numbers. */
const MAX_BATCH = 5000;
