import { systemClock } from 'intentbook';
import { connectSqlite, type SqliteFile } from './connection.ts';
import { toStoreError } from './database-driver.ts';
import { acquireLease, runInTransaction } from './session.ts';

/** Returns SQL after which the next log entry begins a new log epoch. */
export const requestLogEpoch = (prefix: string) => `UPDATE ${prefix}meta SET may_lack_entries = 1`;

/** Makes the next log entry of the book or of the accounts in a file begin a new log epoch. */
export async function beginEpochInFile(source: SqliteFile): Promise<void> {
  const connection = await connectSqlite(source, { isNew: false });
  try {
    const { database, prefix } = connection;
    const lease = runInTransaction(database, 'begin a log epoch', () => {
      const acquired = acquireLease(connection, systemClock);
      database.exec(requestLogEpoch(prefix));
      return acquired;
    });
    lease.release();
  } catch (cause) {
    throw toStoreError('begin a log epoch', cause, connection.database.name);
  } finally {
    connection.disconnect();
  }
}
