import { LOG_EPOCH_SIZE } from 'intentbook/store-kit';
import { TIMELINE } from '../functions.ts';
import type { Query } from '../query.ts';
import type { PostgresSession } from '../session.ts';

/**
 * Acquires an exclusive lock until the commit. Must run within a transaction.
 *
 * @returns The number that the previous holder stored. The one of the log begins a new log epoch after a failover and
 * after a restore from a dump.
 */
export type AcquireLock = (run: Query, name: 'log' | 'affiliates' | 'subscriptions') => Promise<number>;

/**
 * Returns SQL for the origin of log entries: the server and its timeline, the database, and the table. A dump carries
 * none of these.
 */
export const getOrigin = (s: string) =>
  `(SELECT system_identifier || '.' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '.' || ` +
  `'${s}.log'::regclass::oid || '.' || ${TIMELINE} FROM pg_control_system())`;

export function createSerialLock({ schema: s, prepare }: PostgresSession): AcquireLock {
  const lock = prepare<readonly [number]>(
    `SELECT CASE WHEN origin IS NULL OR origin = ${getOrigin(s)} THEN last ` +
      `ELSE (last / ${LOG_EPOCH_SIZE} + 1) * ${LOG_EPOCH_SIZE} END FROM ${s}.locks WHERE name = $1 FOR UPDATE`,
  );
  return async (run, name) => {
    const [row] = await run(lock, name);
    if (row === undefined) throw new Error(`the row "${name}" of the table "locks" is missing`);
    return row[0];
  };
}
