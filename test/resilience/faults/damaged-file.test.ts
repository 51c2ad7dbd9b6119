import { closeSync, copyFileSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { createOrderBook } from 'intentbook';
import { backupSqlite, sqliteStore } from 'intentbook/sqlite';
import { describe, expect, test } from 'vitest';
import { temporaryFile } from '../../integration/stores/temporary.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

const START = 1_700_000_000_000;

/** @param start - Time of the clock, in milliseconds since 1970. */
async function openBook(path: string, start = START) {
  const clock = manualClock(start);
  const book = createOrderBook({ chainId: SEPOLIA, clock, store: sqliteStore({ path }), cacheBytes: 0 });
  await book.start();
  let nonce = 0;
  const submit = async () => {
    const validTo = Math.floor(clock.now() / 1000) + 3600 + nonce++;
    return book.orders.submit(await signOrder(account(1), { validTo }));
  };
  return { book, clock, submit };
}

describe('damaged SQLite file', () => {
  test('makes the book not ready, and takes no orders after a read has found the damage', async () => {
    using file = temporaryFile();
    const first = await openBook(file.path);
    for (let i = 0; i < 40; i++) expect((await first.submit()).status).toBe('accepted');
    await first.book.close();
    const database = new Database(file.path, { readonly: true });
    const root = "SELECT rootpage FROM sqlite_schema WHERE name = 'orders_owner'";
    const page = database.prepare(root).pluck().get() as number; // the index exists
    const size = database.pragma('page_size', { simple: true }) as number; // an integer
    database.close();
    const descriptor = openSync(file.path, 'r+');
    writeSync(descriptor, Buffer.alloc(size, 0x5a), 0, size, (page - 1) * size);
    closeSync(descriptor);

    const { book, clock, submit } = await openBook(file.path);
    expect((await book.ready()).ready).toBe(true);
    await expect(book.orders.list({ owner: account(1).address })).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringMatching(/damaged/),
    });
    clock.advance(60_000);
    expect(await book.ready()).toMatchObject({ ready: false, checks: { store: 'Unavailable' } });
    await expect(submit()).rejects.toMatchObject({ code: 'Unavailable', message: expect.stringMatching(/restore/) });
    await book.close();
  });
});

describe('write-ahead log without its database', () => {
  test.each([
    ['missing', (path: string) => rmSync(path)],
    ['empty', (path: string) => writeFileSync(path, '')],
  ])('is kept and the start is refused while the file is %s', async (_, harm) => {
    using file = temporaryFile();
    const { book, submit } = await openBook(file.path);
    await submit();
    const [database, log] = [readFileSync(file.path), readFileSync(`${file.path}-wal`)];
    await book.close();
    harm(file.path);
    writeFileSync(`${file.path}-wal`, log);
    await expect(openBook(file.path)).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringMatching(/is missing or empty, but .*-wal" has its latest changes; return the file/),
    });
    writeFileSync(file.path, database);
    const returned = await openBook(file.path, START + 60_000);
    expect((await returned.book.orders.list()).orders).toHaveLength(1);
    await returned.book.close();
  });
});

describe('backup that is restored', () => {
  /** A backup with one order, and a database that was not closed and has more orders in its write-ahead log. */
  async function restoreOver(path: string) {
    const { book, submit } = await openBook(path);
    await submit();
    await backupSqlite({ from: path, to: `${path}.backup` });
    for (let i = 0; i < 20; i++) await submit();
    const log = readFileSync(`${path}-wal`);
    await book.close();
    copyFileSync(`${path}.backup`, path);
    return log;
  }

  test('is refused beside the write-ahead log of the database that it replaces', async () => {
    using file = temporaryFile();
    const log = await restoreOver(file.path);
    writeFileSync(`${file.path}-wal`, log);
    const before = readFileSync(file.path);
    await expect(openBook(file.path)).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringMatching(/is a backup.*delete the files -wal and -shm first/),
    });
    expect(readFileSync(file.path).equals(before)).toBe(true);
  });

  test('opens beside its own write-ahead log after a crash', async () => {
    using file = temporaryFile();
    await restoreOver(file.path);
    const { book, submit } = await openBook(file.path);
    for (let i = 0; i < 2; i++) await submit(); // the first order is in the backup
    const [database, log] = [readFileSync(file.path), readFileSync(`${file.path}-wal`)];
    await book.close();
    writeFileSync(file.path, database);
    writeFileSync(`${file.path}-wal`, log);
    // After the lease of the process that has crashed.
    const reopened = await openBook(file.path, START + 60_000);
    expect((await reopened.book.orders.list()).orders).toHaveLength(2);
    await reopened.book.close();
  });
});
