import { existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { StoreError } from 'intentbook';
import { assertKnownOptions } from 'intentbook/store-kit';
import { requireFunction } from '#internal';
import { assertBookFile, assertFileExists, assertOwnLog, COPY_ID } from './connection.ts';
import { type BetterSqlite, loadDriver, openDatabase, toStoreError } from './database-driver.ts';
import { requestLogEpoch } from './log-epoch.ts';
import type { NodeSqlite } from './node-sqlite.ts';

/** Options of a backup. */
export interface SqliteBackupOptions {
  /** File of a book. It may be in use by a server. */
  readonly from: string;
  /** File to create. It must not exist. */
  readonly to: string;
  /** Called with the number of copied pages and the total number of pages. */
  readonly onProgress?: ((copied: number, total: number) => void) | undefined;
}

/** Pages copied in one step: 4 MiB. */
const PAGES_PER_STEP = 1024;

/** Files that backups of this process write. Those of other processes are found by what they do to the partial file. */
const written = new Set<string>();

/**
 * Copies the file of a book while it is in use. The copy is a consistent snapshot without a writer lease. Its integrity
 * is checked before the promise resolves. The next entry of its log begins a new log epoch.
 *
 * The copy is written to `<to>.partial`, which is renamed when it is complete. A file of this name from an interrupted
 * backup is replaced. The copy has the permissions of the original.
 *
 * @throws StoreError with the file that cannot be read or created, or that is the database of another application.
 * @throws TypeError if an option is unknown or malformed.
 */
export async function backupSqlite(options: SqliteBackupOptions): Promise<void> {
  assertKnownOptions('backupSqlite', options, ['from', 'to', 'onProgress']);
  const { onProgress } = options;
  for (const [name, path] of Object.entries({ from: options.from, to: options.to })) {
    if (typeof path === 'string' && path !== '') continue;
    throw new TypeError(`backupSqlite: \`${name}\` must be a file path, got ${JSON.stringify(path)}`);
  }
  if (onProgress !== undefined) requireFunction('backupSqlite: onProgress', onProgress);
  // The working directory may change during the copy.
  const [from, to] = [resolve(options.from), resolve(options.to)];
  assertFileExists(from);
  assertNew(to);
  if (written.has(to)) throw createBusyError(to);
  written.add(to);
  try {
    await writeCopy(from, to, onProgress);
  } finally {
    written.delete(to);
  }
}

async function writeCopy(from: string, to: string, onProgress: SqliteBackupOptions['onProgress']): Promise<void> {
  const driver = await loadDriver();
  const partial = `${to}.partial`;
  const operation = `copy "${from}" to "${to}"`;
  const own = await createEmpty(partial, from).catch((cause: unknown) => {
    throw Object(cause).code === 'EEXIST' ? createBusyError(to) : toStoreError(operation, cause);
  });
  const isReplaced = async () => (await own.stat()).nlink === 0;
  try {
    if (driver.kind === 'node') await copyWithRuntime(driver.module, { from, to: partial, onProgress });
    else await copyWithPackage(driver.create, { from, to: partial, onProgress });
    if (await isReplaced()) throw createBusyError(to);
    await finishCopy(partial, from);
    assertNew(to);
    await rename(partial, to);
    await syncFolder(dirname(to));
  } catch (cause) {
    // The file of this name belongs to another backup.
    if (await isReplaced()) throw createBusyError(to);
    await removeDatabase(partial).catch(() => {});
    throw toStoreError(operation, cause);
  } finally {
    await own.close();
  }
}

/** @throws StoreError if a file exists. */
function assertNew(path: string): void {
  if (existsSync(path)) throw new StoreError('Unavailable', `the file "${path}" already exists`);
}

const createBusyError = (to: string) => new StoreError('Unavailable', `another backup writes the file "${to}"`);

/**
 * Checks every page, row and index of the file of a book, which is only read.
 *
 * @throws StoreError `Unavailable` with the first damage, or if the file cannot be read.
 */
export async function checkSqliteFile(file: { readonly path: string }): Promise<void> {
  assertKnownOptions('checkSqliteFile', file, ['path']);
  const { path } = file;
  await loadDriver();
  assertFileExists(path);
  await assertOwnLog(path);
  const database = await openDatabase(path, 0);
  try {
    database.pragma('query_only = ON');
    const result = database.pragma('integrity_check(1)', { simple: true });
    if (result !== 'ok')
      throw new StoreError('Unavailable', `the file "${path}" is damaged: ${String(result).replace(/\s+/g, ' ')}`);
  } catch (cause) {
    throw toStoreError(`check the file "${path}"`, cause);
  } finally {
    database.close();
  }
}

/**
 * Creates a file with the permissions of another one, before it has content that others may not read. Replaces an
 * earlier file. The handle shows whether the file was replaced in turn. SQLite would lose its locks if it were closed.
 */
async function createEmpty(path: string, like: string): Promise<FileHandle> {
  const { mode } = await stat(like);
  await removeDatabase(path);
  const file = await open(path, 'wx', 0o600);
  await file.chmod(mode & 0o777);
  return file;
}

/** Makes the name of a new file durable. Some platforms cannot open a folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

/** Prepares a copy for its own writers, and checks its integrity. */
async function finishCopy(path: string, from: string): Promise<void> {
  const copy = await openDatabase(path, 0);
  try {
    assertBookFile(copy, from, false);
    // The writer of the original does not write to the copy.
    copy.exec('DELETE FROM lease');
    // Readers may have seen entries that the copy lacks. The epoch begins with the next entry of the copy, so that each
    // restore of one backup begins another one.
    copy.exec(requestLogEpoch(''));
    const result = copy.pragma('quick_check', { simple: true });
    if (result !== 'ok') throw new StoreError('Unavailable', `the copy "${path}" is damaged`);
    // Without a write-ahead log, so that the file itself shows that it is a copy.
    copy.pragma('journal_mode = DELETE');
    copy.pragma(`application_id = ${COPY_ID}`);
  } finally {
    copy.close();
  }
}

/**
 * Begins to read one snapshot. Without it, each commit of another connection makes the copy begin again. It ends when
 * the connection is closed.
 */
const HOLD_SNAPSHOT = 'BEGIN; SELECT 1 FROM sqlite_schema';

/** Deletes a database with the files that SQLite creates beside it. */
async function removeDatabase(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(`${path}${suffix}`, { force: true });
}

async function copyWithPackage(create: BetterSqlite, { from, to, onProgress }: SqliteBackupOptions): Promise<void> {
  const source = new create(from, { readonly: true, fileMustExist: true });
  try {
    source.exec(HOLD_SNAPSHOT);
    await source.backup(to, {
      progress({ totalPages, remainingPages }) {
        onProgress?.(totalPages - remainingPages, totalPages);
        return PAGES_PER_STEP;
      },
    });
  } finally {
    source.close();
  }
}

async function copyWithRuntime(
  { DatabaseSync, backup }: NodeSqlite,
  { from, to, onProgress }: SqliteBackupOptions,
): Promise<void> {
  if (backup === undefined) throw new StoreError('Unsupported', 'a backup requires better-sqlite3 or Node.js 22.16');
  const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
  try {
    source.exec(HOLD_SNAPSHOT);
    const pages = await backup(source, to, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) => onProgress?.(totalPages - remainingPages, totalPages),
    });
    onProgress?.(pages, pages);
  } finally {
    source.close();
  }
}
