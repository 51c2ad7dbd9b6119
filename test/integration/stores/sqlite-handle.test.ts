import { copyFileSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Store } from 'intentbook';
import { StoreError } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, NOW, order, place } from '../../conformance/orders.ts';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import type { TemporaryFile } from './temporary.ts';
import { temporaryFile } from './temporary.ts';

let file: TemporaryFile;
let database: Database.Database;
let clock: ManualClock;

beforeEach(() => {
  file = temporaryFile();
  clock = manualClock();
  database = new Database(file.path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE orders (what TEXT)');
});

afterEach(() => {
  database.close();
  file[Symbol.dispose]();
});

test('the last overload is that of options, by which the compiler explains a wrong member', () => {
  const options: Parameters<typeof sqliteStore>[0] = { path: 'unopened.sqlite' };
  expect(sqliteStore(options).traits.name).toBe(sqliteStore(database).traits.name);
});

async function open(options?: { prefix?: string; synchronous?: 'NORMAL' }): Promise<Store> {
  const store = sqliteStore(database, options);
  await store.open({ domain: DOMAIN, clock });
  return store;
}

async function rejection(call: Promise<unknown>): Promise<StoreError> {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof StoreError)) throw new Error('expected a StoreError');
  return error;
}

const SETTINGS = ['journal_mode', 'synchronous', 'busy_timeout', 'foreign_keys', 'cache_size', 'wal_autocheckpoint'];
const HEADER = ['application_id', 'user_version'];

describe('SQLite store on a host connection', () => {
  test('an open that fails after the lease was acquired releases it', async () => {
    const store = sqliteStore(database);
    const opening = store.open({ domain: DOMAIN, clock });
    renameSync(file.path, `${file.path}.away`);
    await expect(opening).rejects.toThrow();
    renameSync(`${file.path}.away`, file.path);
    await store.open({ domain: DOMAIN, clock });
    await store.close();
  });

  test('changes no setting, uses its prefix and leaves the connection open', async () => {
    const settings = () => [...SETTINGS, ...HEADER].map((name) => database.pragma(name));
    const before = settings();
    const store = await open({ prefix: 'book_' });
    await place(store, order(1));
    expect(settings()).toEqual(before);
    await store.close();
    // Text.
    const names = database.prepare('SELECT name FROM sqlite_schema WHERE sql IS NOT NULL').pluck().all() as string[];
    expect(names.filter((name) => !name.startsWith('book_') && name !== 'sqlite_sequence')).toEqual(['orders']);
    expect(database.open).toBe(true);
    expect(database.prepare('SELECT count(*) FROM book_lease').pluck().get()).toBe(0);
  });

  test.each([
    ['journal_mode = DELETE', 'journal_mode = delete, the store needs wal'],
    ['synchronous = NORMAL', 'synchronous = 1, the store needs at least FULL'],
    ['synchronous = OFF', 'synchronous = 0, the store needs at least FULL'],
    ['locking_mode = EXCLUSIVE', 'locking_mode = exclusive, the store needs NORMAL'],
  ])('names a missing setting: %s', async (pragma, message) => {
    database.pragma(pragma);
    const error = await rejection(open());
    expect([error.code, error.message]).toEqual(['Unavailable', expect.stringContaining(message)]);
    expect(database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get()).toBe(1);
  });

  test('accepts a weaker sync on request and declares itself not durable', async () => {
    database.pragma('synchronous = NORMAL');
    const store = await open({ synchronous: 'NORMAL' });
    expect(store.traits).toMatchObject({ durable: false, hostTransaction: true });
    await store.close();
  });

  test('keeps two prefixes apart and shares one prefix', async () => {
    const [first, second] = [await open({ prefix: 'a_' }), await open({ prefix: 'b_' })];
    await place(first, order(1));
    expect(await second.orders.get([order(1).uid])).toEqual([]);
    expect((await rejection(open({ prefix: 'a_' }))).code).toBe('WriterActive');
    await first.close();
    await second.close();
  });

  test.each(['', 'sqlite_x', 'a b', 'a"b', '1a', 'ä', 'x'.repeat(100)])('rejects the prefix %j', (prefix) => {
    expect(() => sqliteStore(database, { prefix })).toThrow(TypeError);
  });

  test('reports a connection that the host has closed', async () => {
    const store = await open();
    database.close();
    expect((await rejection(store.orders.insert([{ order: order(1) }]))).message).toContain('not open');
    await store.close();
  });
});

describe('SQLite store on a handle of a class of the host', () => {
  test('creates no second instance of the class', async () => {
    let created = 0;
    class Application extends Database {
      constructor({ path }: { path: string }) {
        super(path);
        created++;
      }
    }
    database.close();
    database = new Application({ path: file.path });
    database.pragma('synchronous = FULL');
    const store = await open();
    await place(store, order(1));
    expect([created, (await store.orders.list({ limit: 9 })).length]).toEqual([1, 1]);
    await store.close();
  });

  test('reads with the native part that the host has loaded', async () => {
    const { default: Bundled } = await import('better-sqlite3');
    const path = createRequire(import.meta.url).resolve('better-sqlite3/build/Release/better_sqlite3.node');
    const copy = join(file.directory, 'copied.node');
    copyFileSync(path, copy);
    database.close();
    database = new Bundled(file.path, { nativeBinding: copy });
    database.pragma('synchronous = FULL');
    const prepare = vi.spyOn(Object.getPrototypeOf(nativePart(database)) as { prepare(): unknown }, 'prepare');
    const store = await open();
    await place(store, order(1));
    expect((await store.orders.list({ limit: 9 })).length).toBe(1);
    expect(new Set(prepare.mock.contexts).size).toBe(2);
    await store.close();
  });

  test('refuses an object that only has the methods', async () => {
    const { name, memory } = database;
    const handle = {
      name,
      memory,
      open: true,
      inTransaction: false,
      prepare: database.prepare.bind(database),
      exec: database.exec.bind(database),
      pragma: database.pragma.bind(database),
      close: () => {},
    };
    const store = sqliteStore(handle);
    const error = await rejection(store.open({ domain: DOMAIN, clock }));
    expect([error.code, error.message]).toEqual(['Unsupported', expect.stringContaining('better-sqlite3')]);
  });
});

/** Returns the object of the native part of a handle. */
function nativePart(handle: object): object {
  const [key = Symbol()] = Object.getOwnPropertySymbols(handle);
  return (handle as Record<symbol, object>)[key] ?? {};
}

describe('SQLite store during a host transaction', () => {
  test('writes no own data into it', async () => {
    const store = await open();
    await place(store, order(1));
    database.exec('BEGIN');
    for (const write of [
      () => store.orders.insert([{ order: order(2) }]),
      () => store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: 0 }),
      () => store.appData.put({ hash: order(1).appData, document: '{}' }),
    ]) {
      const error = await rejection(write());
      expect([error.code, error.message]).toEqual(['Unavailable', expect.stringContaining('transaction of the host')]);
    }
    const changes = () => database.prepare('SELECT total_changes()').pluck().get();
    const before = changes();
    clock.advance(60_000);
    expect(changes()).toBe(before);
    database.exec('COMMIT');
    clock.advance(5_000);
    await store.check();
    expect((await rejection(open())).code).toBe('WriterActive');
    await store.close();
  });

  test('cannot be opened on it', async () => {
    database.exec('BEGIN');
    expect((await rejection(open())).code).toBe('Unavailable');
    database.exec('ROLLBACK');
  });

  test('is opened again on its handle after it was closed during the transaction', async () => {
    const store = await open();
    database.exec('BEGIN');
    await store.orders.insert([{ order: order(1) }], { transaction: database });
    await store.close();
    database.exec('COMMIT');
    const next = await open();
    expect(await next.orders.get([order(1).uid])).toHaveLength(1);
    await next.close();
  });

  test("commits or rolls back together with the host's writes", async () => {
    const store = await open();
    const both = (ending: 'COMMIT' | 'ROLLBACK') => async () => {
      database.exec('BEGIN');
      database.exec("INSERT INTO orders VALUES ('mine')");
      await store.orders.insert([{ order: order(1) }], { transaction: database });
      database.exec(ending);
      return [
        database.prepare('SELECT count(*) FROM orders').pluck().get(),
        (await store.orders.list({ limit: 9 })).length,
      ];
    };
    expect(await both('ROLLBACK')()).toEqual([0, 0]);
    expect(await both('COMMIT')()).toEqual([1, 1]);
    await store.close();
  });

  test('rolls back only its own writes after a failed insert', async () => {
    const store = await open();
    database.exec("BEGIN; INSERT INTO orders VALUES ('mine')");
    const inserts = [{ order: order(1) }, { order: order(2, { body: 'no JSON' }) }];
    await rejection(store.orders.insert(inserts, { transaction: database }));
    database.exec('COMMIT');
    expect(database.prepare('SELECT count(*) FROM orders').pluck().get()).toBe(1);
    expect(await store.orders.get([order(1).uid])).toEqual([]);
    expect(await store.orders.count(ALICE, NOW)).toEqual({ open: 0, pending: 0 });
    await store.close();
  });

  test('rejects writes through it after the writer lease was lost', async () => {
    const store = await open();
    database.exec("UPDATE intentbook_lease SET token = 'successor'; BEGIN");
    const error = await rejection(store.orders.insert([{ order: order(1) }], { transaction: database }));
    expect(error.code).toBe('WriterLost');
    database.exec('COMMIT');
    await store.close();
  });

  test.each([
    ['of another connection', () => new Database(':memory:')],
    ['that is invalid', () => ({})],
  ])('rejects a transaction %s', async (_, make) => {
    const store = await open();
    database.exec('BEGIN');
    const error = await rejection(store.orders.insert([{ order: order(1) }], { transaction: make() }));
    expect(error.code).toBe('Unsupported');
    database.exec('ROLLBACK');
    await store.close();
  });

  test('rejects the connection as a transaction when none is open', async () => {
    const store = await open();
    const error = await rejection(store.orders.insert([{ order: order(1) }], { transaction: database }));
    expect(error.code).toBe('Unsupported');
    await store.close();
  });
});
