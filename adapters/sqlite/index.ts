import type { AccountStore, Store } from 'intentbook';
import { assertKnownOptions } from 'intentbook/store-kit';
import { createSqliteAccountStore } from './accounts/store.ts';
import type { SqliteSource, Synchronous } from './connection.ts';
import { SYNCHRONOUS } from './connection.ts';
import type { SqliteDatabase } from './driver.ts';
import { MIGRATIONS } from './schema.ts';
import { createSqliteStore } from './store.ts';

export type { SqliteBackupOptions } from './backup.ts';
export { backupSqlite } from './backup.ts';
export type { Synchronous } from './connection.ts';
export type { SqliteDatabase, SqliteStatement } from './driver.ts';

/** A store in a file of its own. */
export interface SqliteStoreOptions {
  /** The file. It is made when it is not there; its directory must be. */
  readonly path: string;
  /**
   * How hard a commit is pressed to the disk. With less than `FULL`, which is the default, orders that were
   * acknowledged can be lost with the machine's power, and the store does not call itself durable.
   */
  readonly synchronous?: Synchronous;
  /** How long a write waits for another program that has locked the file, in milliseconds. 1000 unless given. */
  readonly busyTimeout?: number;
}

/** A store among the tables of a host. */
export interface SqliteHandleOptions {
  /** What the names of all tables and indexes start with: letters, digits, `_`. `intentbook_` unless given. */
  readonly prefix?: string;
  /** What the handle's own setting must be at least. `FULL` unless given. */
  readonly synchronous?: Synchronous;
}

/**
 * A store in an SQLite file, for one process: a second one that opens the file is rejected by name. Needs the package
 * better-sqlite3, which is loaded when the store is opened. Migrates an older file when it is opened.
 *
 * @example
 * const book = createOrderBook({ store: sqliteStore({ path: 'orders.sqlite' }), ... });
 */
export function sqliteStore(options: SqliteStoreOptions): Store;
/**
 * A store on the better-sqlite3 handle of the host. It changes no setting of the handle and never closes it; it rejects
 * to open where one that it needs is missing (`journal_mode = WAL`, `synchronous = FULL`). While the host has a
 * transaction open on the handle, the store's own writes are rejected rather than made part of it; an insert that is
 * given the handle as `transaction` joins it.
 */
export function sqliteStore(database: SqliteDatabase, options?: SqliteHandleOptions): Store;
export function sqliteStore(where: SqliteStoreOptions | SqliteDatabase, options: SqliteHandleOptions = {}): Store {
  return createSqliteStore('prepare' in where ? handleSource(where, options) : fileSource(where), MIGRATIONS);
}

/**
 * A store for the account interface (`createAccounts`) in an SQLite file of its own, under the same rules as a book's.
 *
 * @example
 * const accounts = createAccounts({ books, store: sqliteAccountStore({ path: 'accounts.sqlite' }) });
 */
export function sqliteAccountStore(options: SqliteStoreOptions): AccountStore {
  return createSqliteAccountStore(fileSource(options));
}

function fileSource(options: SqliteStoreOptions): SqliteSource {
  assertKnownOptions('sqliteStore', options, ['path', 'synchronous', 'busyTimeout']);
  const { path, synchronous, busyTimeout = 1000 } = options;
  if (typeof path !== 'string' || path === '' || path === ':memory:') {
    throw new TypeError('sqliteStore: `path` must name a file; for a store that forgets there is memoryStore()');
  }
  if (!Number.isSafeInteger(busyTimeout) || busyTimeout < 0 || busyTimeout > 2 ** 31 - 1) {
    throw new TypeError('sqliteStore: `busyTimeout` must be a whole number of milliseconds');
  }
  return { kind: 'file', path, synchronous: synchronousLevel(synchronous), busyTimeout };
}

function handleSource(database: SqliteDatabase, options: SqliteHandleOptions): SqliteSource {
  assertKnownOptions('sqliteStore', options, ['prefix', 'synchronous']);
  const { prefix = 'intentbook_', synchronous } = options;
  // It becomes part of names in SQL.
  if (typeof prefix !== 'string' || !/^(?!sqlite_)[a-z][a-z0-9_]{0,40}$/i.test(prefix)) {
    throw new TypeError('sqliteStore: `prefix` must be letters, digits and "_", beginning with a letter');
  }
  return { kind: 'handle', database, prefix, synchronous: synchronousLevel(synchronous) };
}

function synchronousLevel(synchronous: Synchronous = 'FULL'): Synchronous {
  if (!SYNCHRONOUS.includes(synchronous)) {
    throw new TypeError(`sqliteStore: \`synchronous\` must be one of ${SYNCHRONOUS.join(', ')}`);
  }
  return synchronous;
}
