import { copyFileSync, renameSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { expect, test } from 'vitest';
import { temporaryFile } from '../../integration/stores/temporary.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

/** Time after which a lease has been renewed at least once, in milliseconds. */
const RENEWED = 10_000;

test.each([
  ['the write-ahead log is deleted', (path: string) => rmSync(`${path}-wal`), /-wal" was deleted/],
  ['the database file is deleted', (path: string) => rmSync(path), /was deleted/],
  [
    'the database file is replaced by a copy',
    (path: string) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
    /was replaced/,
  ],
])('orders are refused and the book is not ready after %s', async (_, harm, message) => {
  using file = temporaryFile();
  const clock = manualClock();
  const store = sqliteStore({ path: file.path });
  const book = createOrderBook({ chainId: SEPOLIA, clock, store });
  await book.start();
  let nonce = 0;
  const submit = async () => {
    const validTo = Math.floor(clock.now() / 1000) + 3600 + nonce++;
    return book.orders.submit(await signOrder(account(1), { validTo }));
  };
  expect((await submit()).status).toBe('accepted');
  expect((await book.ready()).ready).toBe(true);

  harm(file.path);
  clock.advance(RENEWED);
  await expect(submit()).rejects.toMatchObject({ code: 'WriterLost', message: expect.stringMatching(message) });
  expect(await book.ready()).toMatchObject({ ready: false, checks: { store: 'WriterLost' } });
  await book.close();
});

test('orders that were accepted before and after the write-ahead log was deleted survive the end of the process', async () => {
  using file = temporaryFile();
  const clock = manualClock();
  const book = createOrderBook({ chainId: SEPOLIA, clock, store: sqliteStore({ path: file.path }) });
  await book.start();
  const validTo = Math.floor(clock.now() / 1000) + 3600;
  const submit = async (n: number) => {
    const result = await book.orders.submit(await signOrder(account(n), { validTo }));
    expect(result.status).toBe('accepted');
  };
  for (const n of [1, 2]) await submit(n);
  rmSync(`${file.path}-wal`);
  for (const n of [3, 4]) await submit(n);
  clock.advance(RENEWED);
  expect(await book.ready()).toMatchObject({ ready: false, checks: { store: 'WriterLost' } });

  // What a process that is killed now leaves behind.
  copyFileSync(file.path, `${file.path}.left`);
  const left = new Database(`${file.path}.left`, { readonly: true });
  expect(left.prepare('SELECT count(*) FROM orders').pluck().get()).toBe(4);
  left.close();
  rmSync(`${file.path}.left`);
  await book.close();
});
