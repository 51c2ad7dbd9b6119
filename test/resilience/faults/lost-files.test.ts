import { copyFileSync, renameSync, rmSync } from 'node:fs';
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
