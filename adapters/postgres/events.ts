import type { Address, Hex, OrderEventType, StoredEvent } from 'intentbook';
import type { Query } from './query.ts';
import type { PostgresSession } from './session.ts';

/** The log of what happened to orders. */
export interface PgEventTable {
  last(): Promise<number>;
  after(id: number, limit: number): Promise<StoredEvent[]>;
}

type EventRow = readonly [id: number, type: OrderEventType, uid: Hex, owner: Address, at: number, cause: string | null];

/**
 * The log in two steps. A transaction that changes orders leaves its events in a queue, where it waits for nobody:
 * neither for other writers nor, when it is a host's and stays open for long, do others wait for it. Whoever reads the
 * log first moves what has been committed out of the queue and numbers it, one reader at a time. So every number is
 * given to something that is there already, numbers have no gaps, and the order of numbers is one in which each event
 * comes after all that its transaction could have seen.
 *
 * @param onNumbered told when events have been numbered.
 * @param onTold told when events have been read, before they are handed out.
 */
export function createEventTable(
  session: PostgresSession,
  onNumbered: () => Promise<void>,
  onTold: (run: Query) => Promise<void> = async () => {},
): PgEventTable {
  const { schema: s, prepare, read } = session;
  const queued = prepare(`SELECT 1 FROM ${s}.event_queue LIMIT 1`);
  const newest = prepare<readonly [number]>(`SELECT last FROM ${s}.event_ids`);
  const select = prepare<EventRow>(
    `SELECT id, type, uid, owner, at, cause FROM ${s}.events WHERE id > $1 ORDER BY id LIMIT $2`,
  );
  // The first statement waits for whoever is numbering; the second sees what has been committed meanwhile. Events keep
  // the order of the queue: what happens to one owner's orders does so under a lock, so it stands in its order there.
  const numbering = [
    `SELECT 1 FROM ${s}.event_ids FOR UPDATE`,
    `WITH moved AS (DELETE FROM ${s}.event_queue WHERE place = ANY(ARRAY` +
      `(SELECT place FROM ${s}.event_queue ORDER BY place LIMIT ${LARGEST_MOVE})) RETURNING place, at, type, uid, owner, cause) ` +
      `INSERT INTO ${s}.events (id, at, type, uid, owner, cause) SELECT c.last + row_number() OVER (ORDER BY m.place), ` +
      `m.at, m.type, m.uid, m.owner, m.cause FROM moved m CROSS JOIN ${s}.event_ids c`,
    `UPDATE ${s}.event_ids SET last = greatest(last, (SELECT max(id) FROM ${s}.events))`,
  ];
  let running: Promise<number> | undefined;

  /** Gives a number to everything that was committed before the call. */
  async function number(): Promise<void> {
    for (;;) {
      if (running !== undefined) {
        // It may have looked too early for this caller.
        await running;
        continue;
      }
      if ((await read('read events', (run) => run(queued))).length === 0) return;
      if (running !== undefined) continue;
      running = move().finally(() => {
        running = undefined;
      });
      if ((await running) < LARGEST_MOVE) return;
    }
  }

  async function move(): Promise<number> {
    const [, moved = 0] = await session.script('number events', numbering);
    if (moved > 0) await onNumbered();
    return moved;
  }

  return {
    async last() {
      await number();
      return (await read('read events', (run) => run(newest)))[0]?.[0] ?? 0;
    },
    async after(id, limit) {
      await number();
      const rows = await read('read events', async (run) => {
        const page = await run(select, id, limit);
        if (page.length > 0) await onTold(run);
        return page;
      });
      return rows.map(([id, type, uid, owner, at, cause]) => {
        const event = { id, type, uid, owner, at };
        return cause === null ? event : { ...event, cause: JSON.parse(cause) };
      });
    },
  };
}

/** How many events get their numbers in one transaction. */
const LARGEST_MOVE = 5000;
