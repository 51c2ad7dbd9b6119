import { StoreError } from 'intentbook';
import type { SqliteDatabase } from './driver.ts';
import { openDatabase, toStoreError } from './driver.ts';

/** How hard a commit is pressed to the disk, in SQLite's words. Only `FULL` and `EXTRA` survive a loss of power. */
export const SYNCHRONOUS = ['OFF', 'NORMAL', 'FULL', 'EXTRA'] as const;
/** How much an SQLite store waits for the disk: `FULL` for each commit, which is durable, or less. */
export type Synchronous = (typeof SYNCHRONOUS)[number];

/** Where the tables are. */
export type SqliteSource =
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly synchronous: Synchronous;
      readonly busyTimeout: number;
    }
  | {
      readonly kind: 'handle';
      readonly database: SqliteDatabase;
      readonly prefix: string;
      readonly synchronous: Synchronous;
    };

/** An open database. */
export interface SqliteConnection {
  readonly database: SqliteDatabase;
  /** What every name of a table or index starts with. */
  readonly prefix: string;
  /** Whether file and handle are the store's own, with all that is written in the file's header. */
  readonly own: boolean;
  disconnect(): void;
}

/** Marks the file as a book in its header, where `file` and other tools look: "ibok". */
const APPLICATION_ID = 0x69626f6b;

export async function connectSqlite(source: SqliteSource): Promise<SqliteConnection> {
  return source.kind === 'file' ? connectFile(source) : connectHandle(source);
}

async function connectFile({
  path,
  synchronous,
  busyTimeout,
}: SqliteSource & { kind: 'file' }): Promise<SqliteConnection> {
  const database = await openDatabase(path, busyTimeout);
  try {
    // Before anything is changed: the file may be somebody else's.
    claim(database, path);
    if (database.pragma('journal_mode = WAL', { simple: true }) !== 'wal') {
      throw new StoreError('Unavailable', `the file system of "${path}" does not allow a write-ahead log`);
    }
    database.pragma(`synchronous = ${synchronous}`);
    // In KiB. An order lands on a random page of several indexes; rewriting those from memory is what writes live on.
    database.pragma('cache_size = -65536');
    // In pages. Four times the default: a page that many orders touch is copied back to the file once for all of them.
    database.pragma('wal_autocheckpoint = 4000');
  } catch (cause) {
    database.close();
    throw toStoreError(`open the file "${path}"`, cause);
  }
  return { database, prefix: '', own: true, disconnect: () => void database.close() };
}

function claim(database: SqliteDatabase, path: string): void {
  const mark = database.pragma('application_id', { simple: true });
  if (mark === APPLICATION_ID) return;
  const empty = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().safeIntegers(false).get() === 0;
  if (mark !== 0 || !empty) {
    throw new StoreError('Unavailable', `the file "${path}" is the database of another application`);
  }
  database.pragma(`application_id = ${APPLICATION_ID}`);
}

/** Takes a handle as it is. What the store promises hangs on settings that are the host's to make, so it insists. */
function connectHandle({ database, prefix, synchronous }: SqliteSource & { kind: 'handle' }): SqliteConnection {
  try {
    if (database.inTransaction) throw new StoreError('Unavailable', 'a transaction is open on the database handle');
    require(database, 'journal_mode', ['wal'], 'wal');
    const least = SYNCHRONOUS.indexOf(synchronous);
    const enough = SYNCHRONOUS.map((_, level) => level).filter((level) => level >= least);
    require(database, 'synchronous', enough, synchronous);
  } catch (cause) {
    throw toStoreError('use the database handle', cause);
  }
  return { database, prefix, own: false, disconnect: () => {} };
}

function require(database: SqliteDatabase, pragma: string, wanted: readonly unknown[], word: string): void {
  const found = database.pragma(pragma, { simple: true });
  // A host may have its integers delivered as bigint.
  const value = typeof found === 'bigint' ? Number(found) : found;
  if (wanted.includes(value)) return;
  throw new StoreError(
    'Unavailable',
    `the database handle has ${pragma} = ${value}, the store needs at least ${word}; ` +
      `run "PRAGMA ${pragma} = ${word}" before it is opened`,
  );
}
