import Database from 'better-sqlite3';

/** What an operation has cost, without its time: SQL statements, rows that they returned, and bytes of responses. */
export interface Counters {
  statements: number;
  rows: number;
  bytes: number;
}

type Run = (...parameters: unknown[]) => unknown;
/** The methods of a statement that execute it. */
const EXECUTING = new Set(['run', 'get', 'all', 'iterate']);

/** Counts the statements of all handles until it is disposed. */
export function countStatements(): Counters & Disposable {
  const { prepare, exec } = Database.prototype;
  const counters = {
    statements: 0,
    rows: 0,
    bytes: 0,
    [Symbol.dispose]: () => void Object.assign(Database.prototype, { prepare, exec }),
  };
  const count = (method: string, result: unknown) => {
    counters.statements++;
    counters.rows += countRows(method, result);
    return result;
  };
  const wrap = (statement: object): object =>
    new Proxy(statement, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...parameters: unknown[]) => {
          const result = (method as Run).apply(target, parameters); // a method of the driver
          // Settings such as `raw` return the statement itself.
          if (result === target) return wrap(target);
          return EXECUTING.has(String(name)) ? count(String(name), result) : result;
        };
      },
    });
  Object.assign(Database.prototype, {
    prepare(this: Database.Database, sql: string) {
      return wrap(prepare.call(this, sql));
    },
    exec(this: Database.Database, sql: string) {
      return count('exec', exec.call(this, sql));
    },
  });
  return counters;
}

/** Counts the rows of a result. Many orders are one row: a block of bodies, and a JSON array with the other columns. */
function countRows(method: string, result: unknown): number {
  if (method === 'all') return Array.isArray(result) ? result.length : 0;
  if (method !== 'get' || result === undefined) return 0;
  const [bodies, columns] = Array.isArray(result) ? result : [];
  return Buffer.isBuffer(bodies) && typeof columns === 'string' ? (JSON.parse(columns) as unknown[]).length : 1;
}

/** Runs an operation and returns what it has added. The bytes are those of its response. */
export async function measureCounters(
  counters: Counters,
  operation: () => Promise<Uint8Array | string | undefined>,
): Promise<Counters> {
  const before = { ...counters };
  const response = await operation();
  return {
    statements: counters.statements - before.statements,
    rows: counters.rows - before.rows,
    bytes: response === undefined ? 0 : Buffer.byteLength(response),
  };
}
