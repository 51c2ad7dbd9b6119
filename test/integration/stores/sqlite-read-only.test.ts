import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createOrderBook } from 'intentbook';
import { backupSqlite, sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Migration } from '../../../adapters/sqlite/schema.ts';
import { MIGRATIONS } from '../../../adapters/sqlite/schema.ts';
import { createSqliteStore } from '../../../adapters/sqlite/store.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'intentbook-read-'));
  path = join(folder, 'book.sqlite');
});
afterEach(() => rm(folder, { recursive: true }));

const context = { domain: DOMAIN, clock: manualClock() };
const file = () => ({ kind: 'file', path, synchronous: 'FULL', busyTimeout: 0 }) as const;

describe('SQLite store for reads only', () => {
  test('reads what another book writes, and rejects its own writes', async () => {
    const book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path }) });
    await book.start();
    const domain = { chainId: SEPOLIA, settlementContract: book.settlementContract };
    const reader = sqliteStore({ path, readOnly: true });
    await reader.open({ domain, clock: context.clock });
    const order = await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 3600 });
    const result = await book.orders.submit(order);
    if (result.status !== 'accepted') throw new Error(JSON.stringify(result));
    expect((await reader.orders.get([result.uid])).map(({ uid }) => uid)).toEqual([result.uid]);
    expect(await reader.events.last()).toBe(await book.log.last());
    await expect(reader.check()).rejects.toMatchObject({ code: 'Unavailable' });
    await expect(reader.appData.put({ hash: `0x${'11'.repeat(32)}`, document: '{}' }, 1)).rejects.toMatchObject({
      code: 'Unavailable',
    });
    await reader.close();
    expect((await book.ready()).ready).toBe(true);
    await book.close();
  });

  test('does not create, claim or change a file', async () => {
    const open = () => sqliteStore({ path, readOnly: true }).open(context);
    await expect(open()).rejects.toThrow(`the file "${path}" does not exist`);
    expect(existsSync(path)).toBe(false);
    writeFileSync(path, '');
    await expect(open()).rejects.toThrow(`the file "${path}" is not the database of a book`);
    const other = new Database(path);
    other.exec('CREATE TABLE t (a)');
    other.close();
    const before = readFileSync(path);
    await expect(open()).rejects.toThrow('is not the database of a book');
    expect(readFileSync(path).equals(before)).toBe(true);
    writeFileSync(path, 'x'.repeat(5000));
    await expect(open()).rejects.toThrow('is not an SQLite database');
  });

  test('rejects the store of another chain, and an account store', async () => {
    const accounts = sqliteAccountStore({ path });
    await accounts.open({ clock: context.clock });
    await accounts.close();
    await expect(sqliteStore({ path, readOnly: true }).open(context)).rejects.toMatchObject({ code: 'DomainMismatch' });
    const reader = sqliteAccountStore({ path, readOnly: true });
    await reader.open({ clock: context.clock });
    expect(await reader.notifications.last()).toBe(0);
    await expect(reader.check()).rejects.toMatchObject({ code: 'Unavailable' });
    await reader.close();
  });

  test('migrates an older schema first, unless a writer has the file', async () => {
    const release = (...migrations: readonly Migration[]) => createSqliteStore(file(), migrations);
    const older = release(...MIGRATIONS);
    await older.open(context);
    const addNote: Migration = (p) => `ALTER TABLE ${p}orders ADD COLUMN note TEXT`;
    const reader = createSqliteStore({ ...file(), readOnly: true }, [...MIGRATIONS, addNote]);
    await expect(reader.open(context)).rejects.toMatchObject({ code: 'WriterActive' });
    await older.close();
    await reader.open(context);
    expect(await reader.orders.list({ limit: 1 })).toEqual([]);
    await reader.close();
  });

  test('does not read a backup beside the log of the database that it replaces', async () => {
    const store = sqliteStore({ path });
    await store.open(context);
    const copy = join(folder, 'copy.sqlite');
    await backupSqlite({ from: path, to: copy });
    const before = readFileSync(copy);
    const reader = sqliteStore({ path: copy, readOnly: true });
    await reader.open(context);
    await reader.close();
    // It stays marked as a copy.
    expect(readFileSync(copy).equals(before)).toBe(true);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    await expect(sqliteStore({ path: copy, readOnly: true }).open(context)).rejects.toThrow('is a backup');
    await store.close();
  });
});
