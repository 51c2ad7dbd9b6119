import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Store } from 'intentbook';
import { StoreError } from 'intentbook';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectSqlite } from '../../../adapters/sqlite/connection.ts';
import type { Migration } from '../../../adapters/sqlite/schema.ts';
import { MIGRATIONS } from '../../../adapters/sqlite/schema.ts';
import { createSqliteStore } from '../../../adapters/sqlite/store.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { order, place } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import type { TemporaryFile } from './temporary.ts';
import { temporaryFile } from './temporary.ts';

let file: TemporaryFile;
beforeEach(() => {
  file = temporaryFile();
});
afterEach(() => file[Symbol.dispose]());

const context = () => ({ domain: DOMAIN, clock: manualClock() });

/** Creates the store of a release with the given schema versions. */
const release = (...migrations: Migration[]): Store =>
  createSqliteStore({ kind: 'file', path: file.path, synchronous: 'FULL', busyTimeout: 1000 }, migrations);

function look<T>(work: (database: Database.Database) => T, path = file.path): T {
  const database = new Database(path);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

const versionOf = () =>
  look((database) => [
    database.prepare('SELECT schema_version FROM meta').pluck().get(),
    database.pragma('user_version', { simple: true }),
  ]);

async function rejection(opening: Promise<unknown>): Promise<StoreError> {
  const error = await opening.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof StoreError)) throw new Error('expected a StoreError');
  return error;
}

const addNote: Migration = (p) => `ALTER TABLE ${p}orders ADD COLUMN note TEXT NOT NULL DEFAULT 'old'`;
const addIndex: Migration = (p) => `CREATE INDEX ${p}orders_note ON ${p}orders (note)`;
const broken: Migration = (p) => `CREATE TABLE ${p}half (id INTEGER); CREATE TABLE ${p}half (id INTEGER)`;

describe('SQLite schema', () => {
  test('of an older release is migrated with its data', async () => {
    const older = release(...MIGRATIONS);
    await older.open(context());
    await place(older, order(1));
    await older.close();
    expect(versionOf()).toEqual([MIGRATIONS.length, MIGRATIONS.length]);

    const newer = release(...MIGRATIONS, addNote, addIndex);
    await newer.open(context());
    expect((await newer.orders.get([order(1).uid])).length).toBe(1);
    await place(newer, order(2));
    await newer.close();
    expect(versionOf()).toEqual([MIGRATIONS.length + 2, MIGRATIONS.length + 2]);
    expect(look((database) => database.prepare('SELECT note FROM orders').pluck().all())).toEqual(['old', 'old']);
  });

  test('of a newer release is rejected with both versions and not changed', async () => {
    const newer = release(...MIGRATIONS, addNote);
    await newer.open(context());
    await newer.close();
    const before = readFileSync(file.path);
    const error = await rejection(release(...MIGRATIONS).open(context()));
    expect(error.code).toBe('SchemaTooNew');
    expect(error.message).toMatch(
      new RegExp(`schema version ${MIGRATIONS.length + 1}.*up to version ${MIGRATIONS.length}`),
    );
    expect(readFileSync(file.path).equals(before)).toBe(true);
  });

  test('of a book is not opened as an account store, nor the reverse, and both are named', async () => {
    using accounts = temporaryFile();
    const book = release(...MIGRATIONS);
    await book.open(context());
    await book.close();
    const store = sqliteAccountStore({ path: accounts.path });
    await store.open({ clock: manualClock() });
    await store.close();
    const swapped = sqliteAccountStore({ path: file.path });
    expect(await rejection(swapped.open({ clock: manualClock() }))).toMatchObject({
      code: 'DomainMismatch',
      message: 'this is the store of a book, not an account store',
    });
    expect(await rejection(sqliteStore({ path: accounts.path }).open(context()))).toMatchObject({
      code: 'DomainMismatch',
      message: 'this is an account store, not the store of a book',
    });
  });

  test('keeps completed steps when a later one fails, and opens after a repair', async () => {
    const error = await rejection(release(...MIGRATIONS, addNote, broken).open(context()));
    expect(error.code).toBe('Unavailable');
    expect(error.message).toContain(`migrate to schema version ${MIGRATIONS.length + 2}`);
    expect(error.message).not.toContain('CREATE');
    expect(versionOf()).toEqual([MIGRATIONS.length + 1, MIGRATIONS.length + 1]);
    expect(look((database) => database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half'").get())).toBe(
      undefined,
    );

    const mended = release(...MIGRATIONS, addNote, addIndex);
    await mended.open(context());
    await place(mended, order(1));
    await mended.close();
  });

  test('is not migrated while a writer of an older release is active', async () => {
    const older = release(...MIGRATIONS);
    await older.open(context());
    expect((await rejection(release(...MIGRATIONS, addNote).open(context()))).code).toBe('WriterActive');
    await older.close();
    expect(versionOf()).toEqual([MIGRATIONS.length, MIGRATIONS.length]);
  });

  test('rejects the text of an order that is not JSON', async () => {
    const store = release(...MIGRATIONS);
    await store.open(context());
    for (const body of ['', '{', "{'a':1}", '{"a":1,}']) {
      const error = await rejection(store.orders.insert([{ order: order(1, { body }) }]));
      expect(error.message).not.toMatch(/INSERT|orders_|json_valid|constraint failed/);
      expect([error.code, error.cause]).toMatchObject(['InvalidValue', { code: 'SQLITE_CONSTRAINT_CHECK' }]);
    }
    expect(await store.events.last()).toBe(0);
    await store.close();
  });
});

describe('SQLite file', () => {
  test('is marked as a book, and its log is synced at every commit', async () => {
    const source = { kind: 'file', path: file.path, synchronous: 'FULL', busyTimeout: 1234 } as const;
    const { database, disconnect } = await connectSqlite(source);
    const pragma = (name: string) => database.pragma(name, { simple: true });
    try {
      expect(pragma('journal_mode')).toBe('wal');
      expect(pragma('synchronous')).toBe(2);
      expect(pragma('busy_timeout')).toBe(1234);
    } finally {
      disconnect();
    }
    // Nothing marks it before its tables exist, in one transaction with them.
    const readId = () => {
      const other = new Database(file.path);
      const id = other.pragma('application_id', { simple: true });
      other.close();
      return id;
    };
    expect(readId()).toBe(0);
    const store = sqliteStore({ path: file.path });
    await store.open({ domain: DOMAIN, clock: manualClock() });
    expect(readId()).toBe(0x69626f6b);
    await store.close();
  });

  test.each([
    ['OFF', 0],
    ['NORMAL', 1],
    ['FULL', 2],
    ['EXTRA', 3],
  ] as const)('is synced as configured, on creation and on open: %s', async (synchronous, level) => {
    for (const _ of ['made', 'there']) {
      const { database, disconnect } = await connectSqlite({
        kind: 'file',
        path: file.path,
        synchronous,
        busyTimeout: 0,
      });
      expect(database.pragma('synchronous', { simple: true })).toBe(level);
      disconnect();
    }
  });

  test('with a weaker sync is not declared durable', () => {
    const durable = (synchronous: 'OFF' | 'NORMAL' | 'FULL' | 'EXTRA') =>
      sqliteStore({ path: 'any', synchronous }).traits.durable;
    expect([durable('OFF'), durable('NORMAL'), durable('FULL'), durable('EXTRA')]).toEqual([false, false, true, true]);
  });

  test('of another application is rejected and not changed', async () => {
    look((database) => database.exec('CREATE TABLE accounts (id INTEGER)'));
    const before = readFileSync(file.path);
    const error = await rejection(sqliteStore({ path: file.path }).open(context()));
    expect([error.code, error.message]).toEqual([
      'Unavailable',
      `the file "${file.path}" is the database of another application`,
    ]);
    expect(readFileSync(file.path).equals(before)).toBe(true);
  });

  test('without a database is rejected and not changed', async () => {
    writeFileSync(file.path, 'dear diary, '.repeat(500));
    const error = await rejection(sqliteStore({ path: file.path }).open(context()));
    expect(error.code).toBe('Unavailable');
    expect(error.message).toContain('not an SQLite database');
    expect(error.cause).toMatchObject({ code: 'SQLITE_NOTADB' });
    expect(readFileSync(file.path, 'utf8')).toBe('dear diary, '.repeat(500));
  });

  test('is named if its directory is missing or it is a directory', async () => {
    for (const path of [join(file.directory, 'missing', 'book.sqlite'), file.directory]) {
      const error = await rejection(sqliteStore({ path }).open(context()));
      expect(error.code).toBe('Unavailable');
      expect(error.message).toContain(path);
      expect(error.cause).toBeInstanceOf(Error);
    }
  });

  test('without content becomes a book', async () => {
    writeFileSync(file.path, '');
    const store = sqliteStore({ path: file.path });
    await store.open(context());
    await place(store, order(1));
    expect(await store.orders.list({ limit: 2 })).toHaveLength(1);
    await store.close();
  });

  test('is not created before the store is opened', () => {
    sqliteStore({ path: file.path });
    expect(existsSync(file.path)).toBe(false);
  });
});

test('SQLite store options are checked on creation, and a misspelled one is suggested', () => {
  const make = (options: object) => () => sqliteStore(options as { path: string }); // invalid by design
  expect(make({ path: 'a', sinchronous: 'FULL' })).toThrow('did you mean "synchronous"');
  expect(make({ path: 'a', synchronous: 'full' })).toThrow('OFF, NORMAL, FULL, EXTRA');
  expect(make({ path: 'a', busyTimeout: -1 })).toThrow('busyTimeout');
  expect(make({ path: ':memory:' })).toThrow('memoryStore');
  expect(make({ path: '' })).toThrow('path');
  expect(make({})).toThrow('path');
});
