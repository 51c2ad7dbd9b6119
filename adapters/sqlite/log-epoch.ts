import { systemClock } from 'intentbook';
import { getLogEpochStart } from 'intentbook/store-kit';
import { connectSqlite, type SqliteFile } from './connection.ts';
import { toStoreError } from './database-driver.ts';
import { type SqliteSession, transact } from './session.ts';
import { acquireLease } from './writer-lease.ts';

/** Returns SQL after which the next log entry begins a new log epoch. */
export const requestLogEpoch = (prefix: string) => `UPDATE ${prefix}meta SET may_lack_entries = 1`;

/**
 * Creates a function that returns the id of an entry which begins a new log epoch, and null for all other entries,
 * whose ids SQLite assigns. It must run within the transaction that appends the entry.
 *
 * @param table - The log without the prefix.
 * @param now - Returns milliseconds since 1970.
 */
export function createEpochStart(
  { prefix: p, prepare }: SqliteSession,
  table: 'events' | 'account_log',
  now: () => number,
): () => number | null {
  const isRequested = prepare(`SELECT may_lack_entries FROM ${p}meta`).pluck();
  const newest = prepare(`SELECT coalesce(max(id), 0) FROM ${p}${table}`).pluck();
  const clear = prepare(`UPDATE ${p}meta SET may_lack_entries = 0`);
  // Only a store that is opened begins an epoch. The transaction may be rolled back, so the row is read each time.
  const wasRequested = isRequested.get() === 1;
  return () => {
    if (!wasRequested || isRequested.get() === 0) return null;
    clear.run();
    return getLogEpochStart(newest.get() as number, now()) + 1; // an integer, or coalesced to one
  };
}

/** Makes the next log entry of the book or of the accounts in a file begin a new log epoch. */
export async function beginEpochInFile(source: SqliteFile): Promise<void> {
  const connection = await connectSqlite(source);
  try {
    const { database, prefix } = connection;
    const lease = transact(database, 'begin a log epoch', () => {
      const acquired = acquireLease(connection, systemClock);
      database.exec(requestLogEpoch(prefix));
      return acquired;
    });
    lease.release();
  } catch (cause) {
    throw toStoreError('begin a log epoch', cause);
  } finally {
    connection.disconnect();
  }
}
