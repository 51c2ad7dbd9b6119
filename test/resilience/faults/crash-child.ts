// Run as a process of its own: does to a book what a script says, tells after each deed what it has answered, and kills
// itself, as `kill -9` does, at one of the statements that it sends to the database: before or after it, or while it is on its
// way.
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

/** What the process is told, as JSON. */
export interface Doom {
  readonly seed: number;
  /** Where the book is stored. */
  readonly where: { readonly path: string } | { readonly url: string; readonly schema: string };
  /** The statement at which it dies, counted from 0 from when the book is open. Absent: it lives. */
  readonly statement?: number;
  readonly when?: 'before' | 'after' | 'during';
}

let statements = 0;
let counting = false;
const doom = JSON.parse(process.argv[2] ?? '') as Doom; // by whoever starts this
const die = () => process.kill(process.pid, 'SIGKILL');
const isDoomed = () => counting && statements++ === doom.statement;

/** Dies at a call that the driver makes at once. */
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
          // The driver has written it by the end of this turn.
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
    // On its way before anything else is done.
    writeSync(1, `${answer}\n`);
  }
  counting = false;
  writeSync(1, `statements ${statements}\n`);
  process.exit(0);
}

void main();
