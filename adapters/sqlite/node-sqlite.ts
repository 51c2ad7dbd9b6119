import { types } from 'node:util';
import type { SqliteDatabase, SqliteStatement } from './database-driver.ts';

/** The part of the module `node:sqlite` that is used. */
export interface NodeSqlite {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly timeout?: number; readonly readOnly?: boolean },
  ) => NodeDatabase;
  /** Since Node.js 22.16. @returns the number of copied pages. */
  readonly backup?: (
    source: NodeDatabase,
    path: string,
    options: {
      readonly rate: number;
      readonly progress: (state: { readonly totalPages: number; readonly remainingPages: number }) => void;
    },
  ) => Promise<number>;
}

interface NodeDatabase {
  readonly isOpen?: boolean;
  /** Since Node.js 22.16. */
  readonly isTransaction?: boolean;
  prepare(sql: string): NodeStatement;
  exec(sql: string): void;
  close(): void;
}

interface NodeStatement {
  run(...parameters: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  get(...parameters: unknown[]): unknown;
  all(...parameters: unknown[]): unknown[];
  setReadBigInts(on: boolean): void;
  /** Since Node.js 22.16. */
  setReturnArrays?(on: boolean): void;
}

/** Loads SQLite of the runtime. @returns undefined if the runtime has none. */
export async function loadNodeSqlite(): Promise<NodeSqlite | undefined> {
  try {
    // A variable, because bundlers for older runtimes do not know the module.
    const name: string = 'node:sqlite';
    return (await import(name)) as NodeSqlite;
  } catch {
    return undefined;
  }
}

/**
 * Opens a file with SQLite of the runtime. The database behaves like one of better-sqlite3, as far as the store uses
 * it.
 */
export function openNodeDatabase({ DatabaseSync }: NodeSqlite, path: string, busyTimeout: number): SqliteDatabase {
  const database = translate(() => new DatabaseSync(path, { timeout: busyTimeout }));
  let isOpen = true;
  // Older releases take no timeout.
  translate(() => database.exec(`PRAGMA busy_timeout = ${busyTimeout}`));
  return {
    name: path,
    memory: path === ':memory:' || path === '',
    get open() {
      return isOpen;
    },
    get inTransaction() {
      return database.isTransaction ?? !canBegin(database);
    },
    prepare: (sql) => createStatement(translate(() => database.prepare(sql))),
    exec: (sql) => translate(() => database.exec(sql)),
    pragma(pragma, { simple = false } = {}) {
      const rows = translate(() => database.prepare(`PRAGMA ${pragma}`).all()) as Record<string, unknown>[];
      return simple ? Object.values(rows[0] ?? {})[0] : rows;
    },
    close() {
      isOpen = false;
      translate(() => database.close());
    },
  };
}

/** Whether no transaction is open: SQLite rejects one within another. */
function canBegin(database: NodeDatabase): boolean {
  try {
    database.exec('BEGIN; ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

function createStatement(statement: NodeStatement): SqliteStatement {
  let shape: 'object' | 'array' | 'value' = 'object';
  const readsArrays = statement.setReturnArrays !== undefined;

  /** Sets the shape of the rows, as `raw` and `pluck` of better-sqlite3 do. */
  function setShape(next: typeof shape): SqliteStatement {
    shape = next;
    statement.setReturnArrays?.(next !== 'object');
    return adapted;
  }

  function toRow(row: unknown): unknown {
    if (row === undefined || row === null) return undefined;
    if (shape === 'object')
      return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toBuffer(value)]));
    const values = readsArrays ? (row as unknown[]) : Object.values(row);
    if (shape === 'value') return toBuffer(values[0]);
    for (let i = 0; i < values.length; i++) values[i] = toBuffer(values[i]);
    return values;
  }

  const adapted: SqliteStatement = {
    run(...parameters) {
      const { changes, lastInsertRowid } = translate(() => statement.run(...parameters));
      return { changes: Number(changes), lastInsertRowid };
    },
    get: (...parameters) => toRow(translate(() => statement.get(...parameters))),
    all: (...parameters) => translate(() => statement.all(...parameters)).map(toRow),
    raw: (on = true) => setShape(on ? 'array' : 'object'),
    pluck: (on = true) => setShape(on ? 'value' : 'object'),
    safeIntegers(on = true) {
      statement.setReadBigInts(on);
      return adapted;
    },
  };
  return adapted;
}

/** Returns bytes as a buffer, like better-sqlite3. */
function toBuffer(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** Names of SQLite's result codes, which better-sqlite3 uses as error codes: the primary ones, and an extended one. */
const CODES: Readonly<Record<number, string>> = {
  3: 'SQLITE_PERM',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  19: 'SQLITE_CONSTRAINT',
  26: 'SQLITE_NOTADB',
  6410: 'SQLITE_IOERR_GETTEMPPATH',
};

/** Runs a call, and gives an error of SQLite the code that better-sqlite3 gives it. */
function translate<T>(call: () => T): T {
  try {
    return call();
  } catch (cause) {
    if (types.isNativeError(cause) && 'errcode' in cause && typeof cause.errcode === 'number') {
      throw Object.assign(cause, { code: CODES[cause.errcode] ?? CODES[cause.errcode & 0xff] ?? `SQLITE_ERROR` });
    }
    throw cause;
  }
}
