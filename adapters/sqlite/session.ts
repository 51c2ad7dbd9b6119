import { StoreError } from 'intentbook';
import type { SqliteDatabase, SqliteStatement } from './driver.ts';
import { toStoreError } from './driver.ts';

/** How the nouns of the store reach the database: statements, and transactions that a lost writer cannot commit. */
export interface SqliteSession {
  readonly prefix: string;
  /** Whether a transaction is open, which can be the host's only: none of the store's own outlives a call. */
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  read<T>(doing: string, work: () => T): T;
  /** Runs `work` in a durable transaction of its own. */
  write<T>(doing: string, work: () => T): T;
  /** Runs `work` inside the transaction that the host has open. All of it is undone when it fails. */
  join<T>(doing: string, transaction: unknown, work: () => T): T;
}

/** @param assertHeld throws when this process is not the writer any more. */
export function openSession(
  { database, prefix, own }: { database: SqliteDatabase; prefix: string; own: boolean },
  assertHeld: () => void,
): SqliteSession {
  return {
    prefix,
    get inTransaction() {
      return database.inTransaction;
    },
    prepare: (sql) => prepare(database, sql),
    read(doing, work) {
      try {
        return work();
      } catch (cause) {
        throw toStoreError(doing, cause);
      }
    },
    write: (doing, work) =>
      transact(database, doing, () => {
        assertHeld();
        return work();
      }),
    join(doing, transaction, work) {
      if (own) throw unsupported('a store on a file of its own has no transaction of the host to join');
      if (transaction !== database) throw unsupported('`transaction` must be the handle that the store was made with');
      if (!database.inTransaction) throw unsupported('no transaction is open on the database handle');
      return within(database, doing, ['SAVEPOINT intentbook', 'RELEASE intentbook', UNDO_JOINED], () => {
        assertHeld();
        return work();
      });
    },
  };
}

/** Runs `work` in a transaction that is the writer's from the start, so that it cannot fail halfway for a lock. */
export function transact<T>(database: SqliteDatabase, doing: string, work: () => T): T {
  if (database.inTransaction) {
    // SQLite would take the writes into the host's transaction, and lose them with it.
    throw new StoreError(
      'Unavailable',
      `the SQLite store cannot ${doing} while a transaction of the host is open on its handle`,
    );
  }
  return within(database, doing, ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'], work);
}

/** A statement whose integers are numbers, whatever the host has made the default. */
export function prepare(database: SqliteDatabase, sql: string): SqliteStatement {
  return database.prepare(sql).safeIntegers(false);
}

const UNDO_JOINED = 'ROLLBACK TO intentbook; RELEASE intentbook';

function within<T>(
  database: SqliteDatabase,
  doing: string,
  [begin, commit, undo]: readonly [string, string, string],
  work: () => T,
): T {
  try {
    database.exec(begin);
    try {
      const result = work();
      database.exec(commit);
      return result;
    } catch (cause) {
      // Some failures (a full disk) have undone it already.
      if (database.inTransaction) database.exec(undo);
      throw cause;
    }
  } catch (cause) {
    throw toStoreError(doing, cause);
  }
}

const unsupported = (message: string) => new StoreError('Unsupported', message);
