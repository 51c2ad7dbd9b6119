import type { OrderBook, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { account, signOrder } from '../../support/orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';

let here: TemporarySchema;
beforeAll(async () => {
  here = await temporarySchema();
  await migratePostgres({ url: here.url, schema: here.schema });
});
afterAll(async () => await here[Symbol.asyncDispose]());

/** Interval of sweeps, and steps of the clock. A statement takes less than the steps in which the lease ends. */
const INTERVAL = 60_000;
const STEP = 5000;

test('PostgreSQL books of several processes: one sweeps, the others listen, and one of them takes over', async () => {
  const clock = manualClock(Date.now());
  const sweeps: number[] = [];
  /** Returns a store that records which book asked for expired orders. */
  const watched = (n: number): Store => {
    const store = postgresStore({ url: here.url, schema: here.schema, connections: 3 });
    return {
      ...store,
      orders: {
        ...store.orders,
        expire(now, limit) {
          sweeps.push(n);
          return store.orders.expire(now, limit);
        },
      },
    };
  };
  const seen = new Map<number, string[]>();
  const books: OrderBook[] = [];
  for (const n of [0, 1, 2]) {
    const book = createOrderBook({ chainId: 11155111, store: watched(n), clock, expiryInterval: INTERVAL });
    seen.set(n, []);
    book.on('orderExpired', ({ uid }) => seen.get(n)?.push(uid));
    await book.start();
    books.push(book);
  }
  const validTo = Math.floor(clock.now() / 1000) + 120;
  const results = await Promise.all(
    books.map(async (book, n) => book.orders.submit(await signOrder(account(n), { validTo }))),
  );
  const uids = results.map((result) => (result.status === 'accepted' ? result.uid : ''));
  const advance = () => {
    clock.advance(STEP);
    return [...seen.values()].every((list) => list.length === uids.length);
  };
  await expect.poll(advance, { interval: 50, timeout: 30_000 }).toBe(true);
  for (const list of seen.values()) expect([...list].sort()).toEqual([...uids].sort());
  const [holder, ...others] = new Set(sweeps);
  expect(others).toEqual([]);
  expect(holder).toBeDefined();

  await books[holder ?? 0]?.close();
  sweeps.length = 0;
  const takeOver = () => {
    clock.advance(STEP);
    return new Set(sweeps).size;
  };
  await expect.poll(takeOver, { interval: 50, timeout: 30_000 }).toBe(1);
  expect(sweeps).not.toContain(holder);
  await Promise.all(books.filter((_, n) => n !== holder).map((book) => book.close()));
});
