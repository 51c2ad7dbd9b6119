import { StoreError } from 'intentbook';
import { isDamage, type SqliteDatabase, type SqliteStatement, toStoreError } from './database-driver.ts';

/** Database access for the tables of the store: statements and transactions that only the current writer can commit. */
export type SqliteSession = ReturnType<typeof openSession>;

/** @param assertHeld - Throws if this process is no longer the writer. */
export function openSession(
  { database, prefix, own }: { database: SqliteDatabase; prefix: string; own: boolean },
  assertHeld: () => void,
) {
  let damage: StoreError | undefined;

  /** Throws if an earlier operation has found the file damaged. The store writes no more until it is opened again. */
  function assertIntact(): void {
    if (damage === undefined) return;
    throw new StoreError('Unavailable', `${damage.message}; restore a backup`, { cause: damage.cause });
  }

  /** Runs an operation and remembers that the file is damaged. A write could damage it further, or be lost. */
  function watch<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (error instanceof StoreError && isDamage(error)) damage ??= error;
      throw error;
    }
  }

  function assertWritable(): void {
    assertIntact();
    assertHeld();
  }

  const transact = <T>(operation: string, work: () => T): T =>
    runInTransaction(database, operation, () => {
      assertWritable();
      return work();
    });

  return {
    prefix,
    assertIntact,
    prepare: (sql: string): SqliteStatement => prepareStatement(database, sql),
    read: <T>(operation: string, work: () => T): T =>
      watch(() => {
        try {
          return work();
        } catch (cause) {
          throw toStoreError(operation, cause);
        }
      }),
    /** Runs `work` in its own durable transaction. */
    write: <T>(operation: string, work: () => T): T => watch(() => transact(operation, work)),
    /** Runs `work` in its own transaction, which a power failure may undo although it has returned. */
    writeWithoutSync: <T>(operation: string, work: () => T): T =>
      watch(() => runWithoutSync(database, () => transact(operation, work))),
    /** Runs `work` inside the open transaction of the host. If it fails, all of it is rolled back. */
    join<T>(operation: string, transaction: unknown, work: () => T): T {
      if (own) throw createUnsupportedError('a store on its own file has no host transaction to join');
      if (transaction !== database) {
        throw createUnsupportedError('`transaction` must be the handle that the store was created with');
      }
      if (!database.inTransaction) throw createUnsupportedError('no transaction is open on the database handle');
      return watch(() =>
        runWithin(database, operation, ['SAVEPOINT intentbook', 'RELEASE intentbook', UNDO_JOINED], () => {
          assertWritable();
          return work();
        }),
      );
    },
  };
}

/** Runs `work` in a transaction that takes the write lock at its start, so that a lock cannot make it fail halfway. */
export function runInTransaction<T>(database: SqliteDatabase, operation: string, work: () => T): T {
  if (database.inTransaction) {
    // SQLite would make the writes part of the host's transaction, which may be rolled back.
    throw new StoreError(
      'Unavailable',
      `the SQLite store cannot ${operation} while a transaction of the host is open on its handle`,
    );
  }
  return runWithin(database, operation, ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'], work);
}

/**
 * Runs a transaction whose commit does not wait for the disk. A power failure may undo it, until the next commit that
 * waits. Within a transaction of a host, SQLite rejects the setting.
 */
export function runWithoutSync<T>(database: SqliteDatabase, run: () => T): T {
  const level = database.inTransaction ? NORMAL : Number(database.pragma('synchronous', { simple: true }));
  if (level <= NORMAL) return run();
  database.pragma('synchronous = NORMAL');
  try {
    return run();
  } finally {
    database.pragma(`synchronous = ${level}`);
  }
}

/** The level of `synchronous` at which commits to a write-ahead log do not wait. */
const NORMAL = 1;

/** Prepares a statement that returns integers as numbers, independent of the handle's default. */
export function prepareStatement(database: SqliteDatabase, sql: string): SqliteStatement {
  return database.prepare(sql).safeIntegers(false);
}

const UNDO_JOINED = 'ROLLBACK TO intentbook; RELEASE intentbook';

function runWithin<T>(
  database: SqliteDatabase,
  operation: string,
  [begin, commit, undo]: readonly [string, string, string],
  work: () => T,
): T {
  try {
    database.exec(begin);
    try {
      const result = work();
      runCommit(database, operation, commit);
      return result;
    } catch (cause) {
      // After some failures, such as a full disk, SQLite has already rolled back.
      if (database.inTransaction) database.exec(undo);
      throw cause;
    }
  } catch (cause) {
    throw toStoreError(operation, cause);
  }
}

/** SQLite's extended result code of a failed sync, SQLITE_IOERR_FSYNC. */
const SYNC_FAILED = 1034;

/**
 * Ends a transaction.
 *
 * @throws StoreError `OutcomeUnknown` if the sync failed. The log then contains the complete transaction: SQLite
 * applies it if the process ends before the next write, and otherwise overwrites it.
 */
function runCommit(database: SqliteDatabase, operation: string, commit: string): void {
  try {
    database.exec(commit);
  } catch (cause) {
    const { code, errcode } = Object(cause) as { readonly code?: unknown; readonly errcode?: unknown };
    if (code !== 'SQLITE_IOERR_FSYNC' && errcode !== SYNC_FAILED) throw cause;
    throw new StoreError(
      'OutcomeUnknown',
      `the SQLite store cannot determine the outcome of an attempt to ${operation}: the disk failed`,
      { cause },
    );
  }
}

const createUnsupportedError = (message: string) => new StoreError('Unsupported', message);
