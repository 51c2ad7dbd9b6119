// Child process of the crash tests: runs a script of operations on a book, prints each result, and kills itself like
// `kill -9` at one of its database statements: before, after or during it.
import { writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { PgPool, PgPoolClient } from 'intentbook/postgres';
import { postgresStore } from 'intentbook/postgres';
import type { SqliteDatabase, SqliteStatement } from 'intentbook/sqlite';
import { sqliteStore } from 'intentbook/sqlite';
import pg from 'pg';
import type { Medium } from '../../property/book-driver.ts';
import { BookWorld } from '../../property/book-driver.ts';
import { scriptOf, setTime } from './script.ts';

/** Parameters of the process, as JSON. */
export interface Doom {
  readonly seed: number;
  /** Location of the book. */
  readonly where: { readonly path: string } | { readonly url: string; readonly schema: string };
  /** Statement of the crash, counted from 0 after the book is open. Absent: no crash. */
  readonly statement?: number;
  readonly when?: 'before' | 'after' | 'during';
}

let statements = 0;
let counting = false;
const doom = JSON.parse(process.argv[2] ?? '') as Doom; // passed by the parent process
const die = () => process.kill(process.pid, 'SIGKILL');
const isDoomed = () => counting && statements++ === doom.statement;

/** Crashes at a synchronous call of the driver. */
function fatal<T>(call: () => T): T {
  const doomed = isDoomed();
  if (doomed && doom.when === 'before') die();
  const result = call();
  if (doomed) die();
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
  return {
    name: database.name,
    memory: database.memory,
    get open() {
      return database.open;
    },
    get inTransaction() {
      return database.inTransaction;
    },
    prepare: (sql) => wrapStatement(database.prepare(sql)),
    exec: (sql) => fatal(() => database.exec(sql)),
    pragma: (pragma, options) => database.pragma(pragma, options),
    close: () => database.close(),
  };
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
          const doomed = isDoomed();
          if (doomed && doom.when === 'before') die();
          const answer = plain.query(query);
          // The driver has written the statement at the end of this tick.
          if (doomed && doom.when === 'during') setImmediate(die);
          const result = await answer;
          if (doomed) die();
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
  const { where } = doom;
  if ('path' in where) return sqliteStore(fatalDatabase(where.path), { prefix: 'b_' });
  return postgresStore(fatalPool(where.url), { schema: where.schema, listen: false });
}

async function main(): Promise<void> {
  const medium: Medium = { writers: 1, connect, dispose: async () => {} };
  const world = await BookWorld.begin(medium);
  counting = true;
  for (const scene of scriptOf(doom.seed, world.now)) {
    setTime(world, scene);
    const answer = await scene.deed.real(world);
    // The statement is sent before anything else.
    writeSync(1, `${answer}\n`);
  }
  counting = false;
  writeSync(1, `statements ${statements}\n`);
  process.exit(0);
}

void main();
