import { closeSync, fstatSync, openSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { StoreError } from 'intentbook';
import {
  type BetterSqlite,
  loadDriver,
  openDatabase,
  prepareStatement,
  type SqliteDatabase,
  toStoreError,
} from './database-driver.ts';

/** SQLite's `synchronous` levels. Only `FULL` and `EXTRA` survive a power failure. */
export const SYNCHRONOUS = ['OFF', 'NORMAL', 'FULL', 'EXTRA'] as const;
/** SQLite's `synchronous` level: with `FULL`, each commit waits for the disk and is durable. */
export type Synchronous = (typeof SYNCHRONOUS)[number];

/** Location of the tables: a file of the store, or a handle of the host. */
export type SqliteSource = SqliteFile | SqliteHandle;

/** A handle of the host, and the prefix of the tables. */
export interface SqliteHandle {
  readonly kind: 'handle';
  readonly database: SqliteDatabase;
  readonly prefix: string;
  readonly synchronous: Synchronous;
}

/** A file of the store, and the settings of its connections. */
export interface SqliteFile {
  readonly kind: 'file';
  readonly path: string;
  readonly synchronous: Synchronous;
  /** In milliseconds. */
  readonly busyTimeout: number;
  /** Whether the file is opened for reads only. Default: false. */
  readonly readOnly?: boolean;
}

/** Open database. */
export interface SqliteConnection {
  readonly database: SqliteDatabase;
  /** Prefix of all table and index names. */
  readonly prefix: string;
  /** Whether the store owns the file and the handle, and so may write to the file header. */
  readonly own: boolean;
  disconnect(): void;
}

/**
 * In KiB, for each connection. Each insert writes to random pages of several indexes. A larger cache makes neither
 * reads nor inserts among a million orders faster, because the operating system caches the file as well.
 */
const CACHE_SIZE = 'cache_size = -16384';

/** `application_id` in the file header, which `file` and other tools show: "ibok". */
const APPLICATION_ID = 0x69626f6b;

/**
 * `application_id` of a copy by `backupSqlite` that was not opened since: "iboc". In the file itself, not in a
 * write-ahead log, so that a log of other content beside a restored copy is noticed before SQLite applies it.
 */
export const COPY_ID = 0x69626f63;

/** Position of `application_id` in the header of a file, and the size of the header. */
const ID_OFFSET = 68;
const HEADER_SIZE = 100;

/** Numbers among which the descriptor of a file is searched. */
const MAX_DESCRIPTORS = 65_536;

/**
 * Opens a file of the store, or uses the handle of the host.
 *
 * @param isNew - Whether a file without tables is accepted, because they are created next. Default: true.
 * @throws StoreError `Unavailable` if it is not usable.
 */
export async function connectSqlite(source: SqliteSource, { isNew = true } = {}): Promise<SqliteConnection> {
  return source.kind === 'file' ? connectFile(source, isNew) : connectHandle(source);
}

/** Opens a second connection, for reads only, to the file of an open store. */
export async function connectReader(source: SqliteSource): Promise<SqliteConnection> {
  const database = source.kind === 'file' ? await openDatabase(source.path, source.busyTimeout) : openBeside(source);
  try {
    database.pragma('query_only = ON');
    database.pragma(CACHE_SIZE);
  } catch (cause) {
    database.close();
    throw toStoreError(`open the file "${database.name}"`, cause);
  }
  const prefix = source.kind === 'file' ? '' : source.prefix;
  return { database, prefix, own: source.kind === 'file', disconnect: () => void database.close() };
}

/** Opens the file of a handle with the driver of the handle. */
function openBeside({ database }: SqliteHandle): SqliteDatabase {
  const path = getFilePath(database);
  try {
    return new (getDriverClass(database))(path, { fileMustExist: true, ...getNativePart(database) });
  } catch (cause) {
    throw toStoreError(`open the file "${path}" of the database handle for reads`, cause);
  }
}

/** Returns the class that has the driver's methods. That of the handle may extend it, with another constructor. */
function getDriverClass(database: SqliteDatabase): BetterSqlite {
  let prototype: { readonly constructor: unknown } | null = Object.getPrototypeOf(database);
  while (prototype !== null && !Object.hasOwn(prototype, 'pragma')) prototype = Object.getPrototypeOf(prototype);
  if (prototype !== null) return prototype.constructor as BetterSqlite; // the class with the method
  throw new StoreError('Unsupported', 'the database handle must be one of the package better-sqlite3');
}

/**
 * Returns the option that selects the native part of a handle. Another one would be a second copy of SQLite, and two
 * copies in one process release each other's file locks. The host may also have loaded the only one that can be found.
 */
function getNativePart(database: SqliteDatabase): object {
  for (const key of Object.getOwnPropertySymbols(database)) {
    const { constructor: create } = Object((database as unknown as Record<symbol, unknown>)[key]) as object;
    if (create.name === 'Database') return { nativeBinding: { isInitialized: true, Database: create } };
  }
  return {};
}

/** Returns the path of a file as it was when the file was opened, whatever the working directory is now. */
export function getFilePath(database: SqliteDatabase): string {
  if (isAbsolute(database.name) || database.memory) return database.name;
  return prepareStatement(database, `SELECT file FROM pragma_database_list WHERE name = 'main'`)
    .pluck()
    .get() as string; // text
}

async function connectFile({ path, synchronous, busyTimeout }: SqliteFile, isNew: boolean): Promise<SqliteConnection> {
  assertOneName(path);
  await assertOwnLog(path);
  await loadDriver();
  createPrivate(path);
  const database = await openDatabase(path, busyTimeout);
  try {
    // The file may belong to another application, so this check comes before any change.
    assertBookFile(database, path, isNew);
    // A copy has no write-ahead log yet, so this changes the file itself.
    if (isCopy(database)) database.pragma(`application_id = ${APPLICATION_ID}`);
    if (database.pragma('journal_mode = WAL', { simple: true }) !== 'wal') {
      throw new StoreError('Unavailable', `the file system of "${path}" does not allow a write-ahead log`);
    }
    database.pragma(`synchronous = ${synchronous}`);
    database.pragma(CACHE_SIZE);
    // In pages, four times the default: a page that many orders change is copied back to the file only once.
    database.pragma('wal_autocheckpoint = 4000');
    // In bytes. The log grows while another process reads the file, and SQLite never shrinks it without a limit.
    database.pragma('journal_size_limit = 67108864');
  } catch (cause) {
    database.close();
    throw toStoreError(`open the file "${path}"`, cause);
  }
  return { database, prefix: '', own: true, disconnect: () => void database.close() };
}

/** Creates a file that other users of the machine cannot read. SQLite gives its mode to the files beside it. */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // The file exists, or SQLite reports why it cannot be created.
  }
}

/**
 * Refuses a file with several names. SQLite keeps the write-ahead log and its locks beside the name that it opens:
 * another name has neither, so that two writers damage the file, and the log is lost with a container.
 */
function assertOneName(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return;
  const links = stats.nlink;
  const isMounted = readMounts().includes(realpathSync(path));
  if (links <= 1 && !isMounted) return;
  const problem = isMounted
    ? 'is a mount, and its write-ahead log would not be in it; mount its folder instead'
    : `has ${links} names (hard links), which do not share a write-ahead log; open a copy instead`;
  throw new StoreError('Unavailable', `the file "${path}" ${problem}`);
}

/** Returns the paths of the mounts of this process. Other platforms than Linux have no list of them. */
function readMounts(): string[] {
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    // The fifth field. Spaces and some other characters are octal.
    return lines.map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\(\d{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
  } catch {
    return [];
  }
}

const isCopy = (database: SqliteDatabase) => database.pragma('application_id', { simple: true }) === COPY_ID;

/** @throws StoreError `Unavailable` if a file does not exist, or cannot be reached, such as in a locked folder. */
export function assertFileExists(path: string): void {
  let isMissing: boolean;
  try {
    isMissing = statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException; // an error of the system
    throw new StoreError('Unavailable', `the file "${path}" cannot be read (${code})`, { cause });
  }
  if (isMissing) throw new StoreError('Unavailable', `the file "${path}" does not exist`);
}

/**
 * Refuses a write-ahead log beside a restored copy, which it would destroy, and beside a missing or empty file, for
 * which SQLite would delete it with the orders that only the log has.
 */
export async function assertOwnLog(path: string): Promise<void> {
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (sizeOf(`${path}-wal`) === 0) return;
  if (sizeOf(path) === 0) {
    throw new StoreError(
      'Unavailable',
      `"${path}" is missing or empty, but "${path}-wal" has its latest changes; return the file, or delete -wal and -shm to begin an empty one`,
    );
  }
  if ((await readHeader(path)).readUInt32BE(ID_OFFSET) !== COPY_ID) return;
  throw new StoreError(
    'Unavailable',
    `"${path}" is a backup, and "${path}-wal" belongs to the database that it replaces; delete the files -wal and -shm first`,
  );
}

/**
 * Reads the header of a file through a descriptor of SQLite, which opens no log before the first statement. A process
 * that closes any other descriptor of a file releases the locks that all its threads hold, except on Windows.
 */
async function readHeader(path: string): Promise<Buffer> {
  const header = Buffer.alloc(HEADER_SIZE);
  const database = await openDatabase(path, 0);
  try {
    const { dev, ino } = statSync(path);
    // A new descriptor has the lowest free number.
    for (let file = 0; file < MAX_DESCRIPTORS && process.platform !== 'win32'; file++) {
      try {
        const found = fstatSync(file);
        if (found.dev !== dev || found.ino !== ino) continue;
        readSync(file, header, 0, HEADER_SIZE, 0);
        return header;
      } catch {
        // The number is free, or the descriptor cannot be read.
      }
    }
    const file = openSync(path, 'r');
    readSync(file, header, 0, HEADER_SIZE, 0);
    closeSync(file);
    return header;
  } finally {
    database.close();
  }
}

/** Checks that a file has a book or an account store, or, if it is new, no tables. */
export function assertBookFile(database: SqliteDatabase, path: string, isNew: boolean): void {
  const applicationId = database.pragma('application_id', { simple: true });
  if (applicationId === APPLICATION_ID || applicationId === COPY_ID) return;
  const empty = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().safeIntegers(false).get() === 0;
  if (applicationId !== 0 || !empty) {
    throw new StoreError('Unavailable', `the file "${path}" is the database of another application`);
  }
  if (!isNew) throw createNoBookError(path);
}

export const createNoBookError = (path: string) =>
  new StoreError('Unavailable', `the file "${path}" is not the database of a book`);

/** Marks a new file as that of a book or an account store. */
export function markBookFile(database: SqliteDatabase): void {
  if (database.pragma('application_id', { simple: true }) === 0) database.pragma(`application_id = ${APPLICATION_ID}`);
}

/** Uses a handle unchanged. The guarantees of the store depend on the host's settings, so these are checked. */
function connectHandle({ database, prefix, synchronous }: SqliteHandle): SqliteConnection {
  try {
    if (database.inTransaction) throw new StoreError('Unavailable', 'a transaction is open on the database handle');
    if (!database.memory) assertOneName(getFilePath(database));
    assertPragma(database, 'journal_mode', ['wal'], 'wal');
    assertPragma(database, 'encoding', ['UTF-8'], 'UTF-8');
    // The store reads with a second connection, so that it does not see uncommitted rows.
    assertPragma(database, 'query_only', [0], 'OFF');
    assertPragma(database, 'locking_mode', ['normal'], 'NORMAL');
    const minimum = SYNCHRONOUS.indexOf(synchronous);
    const allowed = SYNCHRONOUS.map((_, level) => level).filter((level) => level >= minimum);
    assertPragma(database, 'synchronous', allowed, synchronous);
  } catch (cause) {
    throw toStoreError('use the database handle', cause);
  }
  return { database, prefix, own: false, disconnect: () => {} };
}

function assertPragma(database: SqliteDatabase, pragma: string, allowed: readonly unknown[], required: string): void {
  const result = database.pragma(pragma, { simple: true });
  // The host may have configured the handle to return integers as bigint.
  const value = typeof result === 'bigint' ? Number(result) : result;
  if (allowed.includes(value)) return;
  throw new StoreError(
    'Unavailable',
    `the database handle has ${pragma} = ${value}, the store needs ${pragma === 'synchronous' ? 'at least ' : ''}${required}; ` +
      `run "PRAGMA ${pragma} = ${required}" before opening the store`,
  );
}
