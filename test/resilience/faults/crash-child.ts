// Child process of the crash tests: runs a script of operations on a book, prints each result, and kills itself like
// `kill -9` at one of its database statements: before, after or during it.
import { writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { PgPool, PgPoolClient } from 'intentbook/postgres';
import { postgresStore } from 'intentbook/postgres';
import type { SqliteDatabase, SqliteStatement } from 'intentbook/sqlite';
import { sqliteStore } from 'intentbook/sqlite';
import pg from 'pg';
import type { BookStorage } from '../../property/book-driver.ts';
import { BookSystem } from '../../property/book-driver.ts';
import { scriptOf, setTime } from './script.ts';

/** Parameters of the process, as JSON. */
export interface CrashPlan {
  readonly seed: number;
  /** Location of the book. */
  readonly where: { readonly path: string } | { readonly url: string; readonly schema: string };
  /** Statement of the crash, counted from 0 after the book is open. Absent: no crash. */
  readonly statement?: number;
  readonly when?: 'before' | 'after' | 'during';
}

let statements = 0;
let counting = false;
const plan = JSON.parse(process.argv[2] ?? '') as CrashPlan; // passed by the parent process
const crashNow = () => process.kill(process.pid, 'SIGKILL');
const isCrashing = () => counting && statements++ === plan.statement;

/** Crashes at a synchronous call of the driver. */
function fatal<T>(call: () => T): T {
  const crashing = isCrashing();
  if (crashing && plan.when === 'before') crashNow();
  const result = call();
  if (crashing) crashNow();
  return result;
}

function fatalDatabase(path: string): SqliteDatabase {
  const database = new Database(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  const wrapStatement = (statement: object): SqliteStatement =>
    new Proxy(statement, {
      get(target, name) {
        const member = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          const call = () => member.apply(target, args);
          const result = name === 'run' ? fatal(call) : call();
          return result === target ? wrapStatement(target) : result;
        };
      },
    }) as SqliteStatement; // it has the same members
  // A substitute that keeps the class: the store opens its second connection with it.
  return new Proxy(database, {
    get(target, name) {
      if (name === 'prepare') return (sql: string) => wrapStatement(target.prepare(sql));
      if (name === 'exec') return (sql: string) => fatal(() => target.exec(sql));
      const member = Reflect.get(target, name);
      return typeof member === 'function' && name !== 'constructor' ? member.bind(target) : member;
    },
  });
}

function fatalPool(url: string): PgPool {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const wrapped = new WeakMap<object, PgPoolClient>();
  return {
    async connect() {
      const client = await pool.connect();
      const known = wrapped.get(client);
      if (known !== undefined) return known;
      const plain = client as PgPoolClient;
      const substitute: PgPoolClient = {
        async query(query) {
          const crashing = isCrashing();
          if (crashing && plan.when === 'before') crashNow();
          const answer = plain.query(query);
          // The driver has written the statement at the end of this tick.
          if (crashing && plan.when === 'during') setImmediate(crashNow);
          const result = await answer;
          if (crashing) crashNow();
          return result;
        },
        release: (error) => plain.release(error),
        on: (event, listener) => client.on(event as 'error', listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
      };
      wrapped.set(client, substitute);
      return substitute;
    },
  };
}

function connect() {
  const { where } = plan;
  if ('path' in where) return sqliteStore(fatalDatabase(where.path), { prefix: 'b_' });
  return postgresStore(fatalPool(where.url), { schema: where.schema, listen: false });
}

async function main(): Promise<void> {
  const storage: BookStorage = { writers: 1, connect, dispose: async () => {} };
  const fixture = await BookSystem.begin(storage);
  counting = true;
  for (const scene of scriptOf(plan.seed, fixture.now)) {
    setTime(fixture, scene);
    const answer = await scene.operation.real(fixture);
    // The statement is sent before anything else.
    writeSync(1, `${answer}\n`);
  }
  counting = false;
  writeSync(1, `statements ${statements}\n`);
  process.exit(0);
}

void main();
