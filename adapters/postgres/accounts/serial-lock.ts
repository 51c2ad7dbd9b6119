import { getEpochStart, getSystem, isOriginal, TIMELINE, XID } from '../log-epoch.ts';
import type { Query } from '../query.ts';
import type { PostgresSession } from '../session.ts';

/**
 * Acquires an exclusive lock until the commit. Must run within a transaction.
 *
 * @returns The number that the previous holder stored. The one of the log begins a new log epoch after a failover and
 * after a restore from a dump.
 */
export type AcquireLock = (run: Query, name: 'log' | 'affiliates' | 'subscriptions') => Promise<number>;

/** Returns SQL for the origin of log entries: the system of the table, and the timeline of the server. */
export const getOrigin = (s: string) => `(${getSystem(`${s}.log`)} || '.' || ${TIMELINE})`;

/** Records the origin of a log that has no entry yet, so that a copy of it begins a new log epoch. */
export async function recordOrigin({ schema: s, read, write }: PostgresSession): Promise<void> {
  const condition = `name = 'log' AND origin IS NULL`;
  const find = { text: `SELECT 1 FROM ${s}.locks WHERE ${condition}` };
  const [missing] = await read('open', (run) => run(find));
  if (missing === undefined) return;
  const record = { text: `UPDATE ${s}.locks SET origin = ${getOrigin(s)}, xid = ${XID} WHERE ${condition}` };
  await write('record the origin of the log', async (run) => void (await run(record)));
}

export function createSerialLock({ schema: s, prepare }: PostgresSession): AcquireLock {
  const lock = prepare<readonly [number]>(
    `SELECT CASE WHEN l.origin IS NULL OR (l.origin = ${getOrigin(s)} AND ${isOriginal('l')}) THEN l.last ` +
      `ELSE ${getEpochStart('l.last')} END FROM ${s}.locks l WHERE l.name = $1 FOR UPDATE`,
  );
  return async (run, name) => {
    const [row] = await run(lock, name);
    if (row === undefined) throw new Error(`the row "${name}" of the table "locks" is missing`);
    return row[0];
  };
}
