/**
 * Stores in SQLite files.
 *
 * `createSqliteStore` (`store.ts`) has all operations on one connection; `orders.ts` inserts an order. By default, a
 * book uses two: `store-with-reader.ts` reads in the thread of the book, and passes each write to the same store in a
 * worker thread (`threaded-store.ts`, `write-thread.ts`, `sqlite-worker.ts`). On a handle of the host, both are in one
 * thread (`handle-store.ts`).
 *
 * @module
 */

import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { AccountStore, Store } from 'intentbook';
import { assertKnownOptions } from 'intentbook/store-kit';
import { MAX_TIMER, requireInteger } from '#internal';
import { createSqliteAccountStore } from './accounts/store.ts';
import { assertFileExists, type SqliteFile, type SqliteHandle, SYNCHRONOUS, type Synchronous } from './connection.ts';
import type { SqliteDatabase } from './database-driver.ts';
import { createHandleStore } from './handle-store.ts';
import { beginEpochInFile } from './log-epoch.ts';
import { MIGRATIONS } from './schema.ts';
import { createSqliteStore } from './store.ts';
import { createThreadedStore } from './threaded-store.ts';
import { getWorkerFile } from './write-thread.ts';

export { backupSqlite, checkSqliteFile, type SqliteBackupOptions } from './backup.ts';
export type { Synchronous } from './connection.ts';
export type { SqliteDatabase, SqliteStatement } from './database-driver.ts';

/** Options of a store that opens its own file. */
export interface SqliteStoreOptions {
  /**
   * Path of the file. The file is created if it does not exist, with the mode 0600; its directory must exist.
   */
  readonly path: string;
  /**
   * Durability of a commit: the `synchronous` setting of the connection. With a level below `FULL`, a power failure can
   * lose accepted orders, and the store does not report itself as durable. Default: `FULL`.
   */
  readonly synchronous?: Synchronous;
  /** Time that a write waits for a lock of another program, in milliseconds. Default: 1000. */
  readonly busyTimeout?: number;
  /**
   * Whether the file is opened for reads only, beside the process that writes it: for exports and checks. Writes fail
   * with `Unavailable`, so a book of this store accepts no orders. An older schema is migrated first, which fails with
   * `WriterActive` while another process has the file open. Default: false.
   */
  readonly readOnly?: boolean;
  /**
   * Whether writes run in a worker thread with its own connection, so that no commit blocks the event loop, and
   * signatures are verified while the previous orders are stored. It takes about 20 MiB, once for all stores of the
   * process. `auto`: with more than one processor, unless a bundler has left out the file of the thread or the process
   * may start no threads. Default: `auto`.
   */
  readonly writeThread?: boolean | 'auto';
}

/** Options of a store on a database handle of the host. */
export interface SqliteHandleOptions {
  /** Prefix of all table and index names: letters, digits and `_`, starting with a letter. Default: `intentbook_`. */
  readonly prefix?: string;
  /** Minimum `synchronous` level that the handle must have. Default: `FULL`. */
  readonly synchronous?: Synchronous;
}

/**
 * Creates a store on a better-sqlite3 handle of the host. The store changes no setting of the handle and never closes
 * it. Opening fails if a required setting is missing: `journal_mode = WAL`, `synchronous = FULL`, `encoding = UTF-8`,
 * `locking_mode = NORMAL`. Reads use a second connection to the file, so that no caller sees uncommitted rows.
 *
 * While the host has a transaction open on the handle, the store rejects its own writes, so that they do not become
 * part of that transaction. An insert that receives the handle as `transaction` joins it.
 */
export function sqliteStore(database: SqliteDatabase, options?: SqliteHandleOptions): Store;
/**
 * Creates a store in an SQLite file, for one process. Opening fails with `WriterActive` if another process has the file
 * open as a book. Opening also migrates the schema of an older release. Uses the package better-sqlite3 if it is
 * installed, otherwise SQLite of the runtime (`node:sqlite`, Node.js 22.13 or later).
 *
 * @example
 * const book = createOrderBook({ store: sqliteStore({ path: 'orders.sqlite' }), ... });
 */
export function sqliteStore(options: SqliteStoreOptions): Store;
export function sqliteStore(target: SqliteStoreOptions | SqliteDatabase, options: SqliteHandleOptions = {}): Store {
  const isHandle = typeof target === 'object' && target !== null && 'prepare' in target;
  if (isHandle) return createHandleStore(parseHandleSource(target, options));
  const source = parseFileSource('sqliteStore', target, ['writeThread']);
  const { writeThread = 'auto' } = target;
  return shouldUseThread(writeThread) && source.readOnly !== true
    ? createThreadedStore(source)
    : createSqliteStore(source, MIGRATIONS);
}

function shouldUseThread(writeThread: boolean | 'auto'): boolean {
  if (writeThread === 'auto') {
    const file = getWorkerFile();
    const isPermitted: boolean | undefined = process.permission?.has('worker'); // undefined without restrictions
    return file !== undefined && isPermitted !== false && availableParallelism() > 1 && existsSync(file);
  }
  if (typeof writeThread === 'boolean') return writeThread;
  throw new TypeError(`sqliteStore: \`writeThread\` must be true, false or "auto", got ${formatValue(writeThread)}`);
}

/**
 * Creates a store for the account interface (`createAccounts`) in its own SQLite file. The rules are those of
 * {@link sqliteStore}.
 *
 * @example
 * const accounts = createAccounts({ books, store: sqliteAccountStore({ path: 'accounts.sqlite' }) });
 */
export function sqliteAccountStore(options: Omit<SqliteStoreOptions, 'writeThread'>): AccountStore {
  return createSqliteAccountStore(parseFileSource('sqliteAccountStore', options));
}

/**
 * Makes the next log entry of a book, or of the accounts, in a file begin a new log epoch. Readers that may have seen
 * entries which the file lacks then receive a gap. For a copy that was made without {@link backupSqlite}, such as a
 * snapshot of the disk, which the store cannot detect. The file must not be open as a book.
 *
 * @throws StoreError `WriterActive` if it is.
 */
export async function beginSqliteLogEpoch(options: { readonly path: string }): Promise<void> {
  const source = parseFileSource('beginSqliteLogEpoch', options);
  assertFileExists(source.path);
  await beginEpochInFile(source);
}

/** The functions that open a file, and the functions that create a store in memory instead. */
const IN_MEMORY = {
  sqliteStore: 'memoryStore',
  sqliteAccountStore: 'memoryAccountStore',
  beginSqliteLogEpoch: 'memoryStore',
} as const;

/** @param name - The called function, for error messages. */
function parseFileSource(
  name: keyof typeof IN_MEMORY,
  options: Omit<SqliteStoreOptions, 'writeThread'>,
  others: readonly string[] = [],
): SqliteFile {
  if (typeof options === 'string') {
    const example = `{ path: ${JSON.stringify(options)} }`;
    throw new TypeError(`${name}: options must be ${example}, got ${JSON.stringify(options)}`);
  }
  const { file, filename } = Object(options) as { readonly file?: unknown; readonly filename?: unknown };
  if (file !== undefined || filename !== undefined) {
    throw new TypeError(`${name}: unknown option "${file === undefined ? 'filename' : 'file'}", use "path"`);
  }
  assertKnownOptions(name, options, ['path', 'synchronous', 'busyTimeout', 'readOnly'].concat(others));
  const { path, synchronous, busyTimeout = 1000, readOnly = false } = options;
  if (typeof path !== 'string' || path === '' || path === ':memory:') {
    const expected = `must be a file path, got ${formatValue(path)}; use ${IN_MEMORY[name]}() for a store in memory`;
    throw new TypeError(`${name}: \`path\` ${expected}`);
  }
  // Its password must not be repeated.
  if (path.includes('://')) throw new TypeError(`${name}: \`path\` must be a file path, got a URL`);
  requireInteger(`${name}: \`busyTimeout\``, busyTimeout, 0, MAX_TIMER);
  if (typeof readOnly !== 'boolean') {
    throw new TypeError(`${name}: \`readOnly\` must be true or false, got ${formatValue(readOnly)}`);
  }
  // The working directory may change before the file is opened.
  return { kind: 'file', path: resolve(path), synchronous: parseSynchronous(name, synchronous), busyTimeout, readOnly };
}

function parseHandleSource(database: SqliteDatabase, options: SqliteHandleOptions): SqliteHandle {
  assertKnownOptions('sqliteStore', options, ['prefix', 'synchronous']);
  const { prefix = 'intentbook_', synchronous } = options;
  // The prefix becomes part of SQL text.
  if (typeof prefix !== 'string' || !/^(?!sqlite_)[a-z][a-z0-9_]{0,40}$/i.test(prefix)) {
    const expected = 'must be letters, digits and "_", beginning with a letter';
    throw new TypeError(`sqliteStore: \`prefix\` ${expected}, got ${formatValue(prefix)}`);
  }
  return { kind: 'handle', database, prefix, synchronous: parseSynchronous('sqliteStore', synchronous) };
}

function parseSynchronous(name: keyof typeof IN_MEMORY, synchronous: Synchronous = 'FULL'): Synchronous {
  if (!SYNCHRONOUS.includes(synchronous)) {
    const expected = `must be one of ${SYNCHRONOUS.join(', ')}`;
    throw new TypeError(`${name}: \`synchronous\` ${expected}, got ${formatValue(synchronous)}`);
  }
  return synchronous;
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
