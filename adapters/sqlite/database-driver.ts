import { createRequire } from 'node:module';
import { StoreError } from 'intentbook';
import { describePackageFailure } from '#internal';
import { loadNodeSqlite, type NodeSqlite, openNodeDatabase } from './node-sqlite.ts';

/** Database handle: the part of better-sqlite3's `Database` that the store uses. */
export interface SqliteDatabase {
  readonly name: string;
  readonly open: boolean;
  readonly memory: boolean;
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  pragma(pragma: string, options?: { simple?: boolean }): unknown;
  close(): unknown;
}

/** Prepared statement of better-sqlite3. */
export interface SqliteStatement {
  run(...parameters: unknown[]): { changes: number; lastInsertRowid: number | bigint };
  get(...parameters: unknown[]): unknown;
  all(...parameters: unknown[]): unknown[];
  raw(on?: boolean): SqliteStatement;
  pluck(on?: boolean): SqliteStatement;
  safeIntegers(on?: boolean): SqliteStatement;
}

/** The class of the package better-sqlite3. Declared by its shape, so that hosts need no types of the package. */
export type BetterSqlite = new (
  path: string,
  options?: { readonly timeout?: number; readonly readonly?: boolean; readonly fileMustExist?: boolean },
) => SqliteDatabase & {
  backup(
    path: string,
    options: { progress(state: { readonly totalPages: number; readonly remainingPages: number }): number },
  ): Promise<unknown>;
};

/** An installed driver: the package better-sqlite3, otherwise SQLite of the runtime. */
export type SqliteDriver =
  | { readonly kind: 'better-sqlite3'; readonly create: BetterSqlite }
  | { readonly kind: 'node'; readonly module: NodeSqlite };

/**
 * Loads the driver on the first call.
 *
 * @throws StoreError `Unavailable` if there is none, and `Unsupported` if the package does not work on this runtime.
 */
export async function loadDriver(): Promise<SqliteDriver> {
  const version = getPackageVersion();
  if (version !== undefined) assertRuntime(version);
  let failure: unknown;
  try {
    const create = (await import('better-sqlite3')).default;
    new create(':memory:').close(); // loads the native part
    return { kind: 'better-sqlite3', create };
  } catch (cause) {
    failure = cause; // the package is missing, or was built for another runtime
  }
  const module = await loadNodeSqlite();
  if (module !== undefined) return { kind: 'node', module };
  const reason = describePackageFailure('the SQLite store', 'better-sqlite3', failure);
  throw new StoreError('Unavailable', `${reason}; or use Node.js 22.13 or later`, { cause: failure });
}

/** Returns the version of the installed package better-sqlite3. `undefined` if it is not found. */
function getPackageVersion(): string | undefined {
  // A bundle may lie in another folder than the packages, or have no `import.meta`. Then the program knows them.
  // The working directory may have been deleted, and has no path then.
  for (const from of [() => import.meta.url, () => process.argv[1], () => `${process.cwd()}/index.js`]) {
    try {
      const found = createRequire(from() ?? '')('better-sqlite3/package.json') as { readonly version: string };
      return found.version;
    } catch {
      // not found from there
    }
  }
  return undefined;
}

/** Rejects a package that would end the process when it is loaded. */
export function assertRuntime(version: string, nodeVersion: string = process.versions.node): void {
  const [major = 0] = version.split('.').map(Number);
  const [node = 0] = nodeVersion.split('.').map(Number);
  if (major < 13 || node >= 22) return;
  throw new StoreError(
    'Unsupported',
    `better-sqlite3 ${version} requires Node.js 22, and this is ${nodeVersion}: npm install better-sqlite3@12`,
  );
}

/** Opens a file with the installed driver. */
export async function openDatabase(path: string, busyTimeout: number): Promise<SqliteDatabase> {
  const driver = await loadDriver();
  try {
    if (driver.kind === 'node') return openNodeDatabase(driver.module, path, busyTimeout);
    return new driver.create(path, { timeout: busyTimeout });
  } catch (cause) {
    throw toStoreError(`open the file "${path}"`, cause);
  }
}

/** Meaning of the driver's error codes for an operator. The first matching prefix is used. */
const MEANINGS: readonly (readonly [code: string, meaning: string])[] = [
  ['SQLITE_BUSY', 'another process holds its lock'],
  ['SQLITE_CANTOPEN', 'the file cannot be opened'],
  ['SQLITE_CONSTRAINT', 'a value does not fit the schema'],
  ['SQLITE_CORRUPT', 'the file is damaged'],
  ['SQLITE_FULL', 'the disk is full'],
  ['SQLITE_IOERR_GETTEMPPATH', 'no folder for temporary files can be written; set SQLITE_TMPDIR'],
  ['SQLITE_IOERR', 'the disk failed'],
  ['SQLITE_NOTADB', 'the file is not an SQLite database'],
  ['SQLITE_PERM', 'access is denied'],
  ['SQLITE_READONLY', 'the file cannot be written to'],
];

/** Codes of values that do not fit the schema, whatever the state of the file. */
const INVALID_VALUE = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/;

/**
 * Converts a thrown value to a `StoreError`. Its message contains no SQL.
 *
 * @param file - The path of the file, if `operation` does not name it. A program may have several.
 */
export function toStoreError(operation: string, cause: unknown, file?: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const isInvalid = INVALID_VALUE.test(String(Object(cause).code));
  const place = isInvalid || file === undefined || file === ':memory:' ? '' : ` in "${file}"`;
  return new StoreError(
    isInvalid ? 'InvalidValue' : 'Unavailable',
    `the SQLite store cannot ${operation}${place}: ${getMeaning(cause)}`,
    { cause },
  );
}

/** SQLite's result codes of a damaged file: SQLITE_CORRUPT and SQLITE_NOTADB. Extended codes have more bits. */
const DAMAGED = [11, 26];

/** Returns whether an error of the driver shows that the file is damaged. */
export function isDamage(error: unknown): boolean {
  const { code, errcode, cause } = Object(error) as Record<'code' | 'errcode' | 'cause', unknown>;
  if (error instanceof StoreError) return isDamage(cause);
  if (typeof errcode === 'number') return DAMAGED.includes(errcode & 0xff);
  return typeof code === 'string' && /^SQLITE_(CORRUPT|NOTADB)/.test(code);
}

function getMeaning(cause: unknown): string {
  // Errors of Node.js are of another realm for code that Jest runs.
  const { message, code, syscall } = Object(cause) as Partial<NodeJS.ErrnoException>;
  if (typeof message !== 'string') return 'the driver failed';
  // An error of the driver itself about its use, such as a missing directory or a closed or busy handle, or an error of
  // the file system with its path.
  if (typeof code !== 'string' || syscall !== undefined) return message;
  const entry = MEANINGS.find(([prefix]) => code.startsWith(prefix));
  return entry === undefined ? code : `${entry[1]} (${code})`;
}

/** Prepares a statement that returns integers as numbers, independent of the handle's default. */
export function prepareStatement(database: SqliteDatabase, sql: string): SqliteStatement {
  return database.prepare(sql).safeIntegers(false);
}
