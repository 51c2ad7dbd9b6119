import { StoreError } from 'intentbook';

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

/** Opens a file with better-sqlite3, which is loaded on the first call. */
export async function openDatabase(path: string, busyTimeout: number): Promise<SqliteDatabase> {
  const driver = await import('better-sqlite3').catch((cause: unknown) => {
    throw new StoreError('Unavailable', 'sqliteStore requires the package better-sqlite3: npm install better-sqlite3', {
      cause,
    });
  });
  try {
    return new driver.default(path, { timeout: busyTimeout });
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
  ['SQLITE_IOERR', 'the disk failed'],
  ['SQLITE_NOTADB', 'the file is not an SQLite database'],
  ['SQLITE_PERM', 'access is denied'],
  ['SQLITE_READONLY', 'the file cannot be written to'],
];

/** Converts a thrown value to a `StoreError`. Its message contains no SQL. */
export function toStoreError(operation: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  return new StoreError('Unavailable', `the SQLite store cannot ${operation}: ${getMeaning(cause)}`, { cause });
}

function getMeaning(cause: unknown): string {
  if (!(cause instanceof Error)) return 'the driver failed';
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
  if (code === undefined) {
    // An error of the driver itself about its use, such as a missing directory or a closed or busy handle.
    return cause.message;
  }
  const entry = MEANINGS.find(([prefix]) => code.startsWith(prefix));
  return entry === undefined ? code : `${entry[1]} (${code})`;
}
