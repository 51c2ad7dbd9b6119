import type { Clock, Hex, OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { postgresStore } from 'intentbook/postgres';
import { orderBookUpstream } from 'intentbook/upstream';
import { afterAll, expect, test } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../../support/orders.ts';
import { temporarySchema } from '../../support/postgres.ts';
import { startBadProxy } from '../../support/upstream/bad-proxy.ts';
import { startSecondBook } from '../../support/upstream/second-book.ts';

const place = await temporarySchema();
afterAll(async () => await place[Symbol.asyncDispose]());

const ORDERS = 40;

test('two books on one PostgreSQL store relay each order once, and both know what happens to it', {
  timeout: 240_000,
}, async () => {
  const second = await startSecondBook({ limits: { maxOpenOrders: 1000 } });
  const proxy = await startBadProxy({ target: second.url, faults: { 'cut-after': 0.1, '502-after': 0.05 } });
  const { url, schema } = place;
  const start = async (migrate: boolean): Promise<OrderBook> => {
    const book = createOrderBook({
      chainId: SEPOLIA,
      store: postgresStore({ url, schema, migrate, connections: 3 }),
      upstream: orderBookUpstream({ url: proxy.url, budget: { read: 200, write: 200, quote: 200, concurrency: 4 } }),
      relay: 'queue',
    });
    await book.start();
    return book;
  };
  const books = [await start(true), await start(false)];
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const uids: Hex[] = [];
  for (let i = 0; i < ORDERS; i++) {
    const order = await signOrder(account(1 + (i % 8)), { validTo, sellAmount: String(10 ** 9 + i) });
    const result = await books[i % 2]?.orders.submit(order as never);
    if (result?.status !== 'accepted') throw result?.error;
    uids.push((result as { uid: Hex }).uid);
  }
  const countThere = async () =>
    (await second.book.orders.getMany(uids)).filter((each) => each.order !== undefined).length;
  await expect.poll(countThere, { timeout: 60_000 }).toBe(ORDERS);

  const orderUids = [uids[0] as Hex];
  const cancellation = { orderUids, ...(await signCancellation(account(1), { orderUids })) };
  // The order may still wait for the proof that it has arrived, and the answer to the cancellation may be lost.
  const cancel = async () => {
    await books[1]?.orders.cancel(cancellation);
    return (await second.book.orders.get(orderUids[0] as Hex))?.status;
  };
  await expect.poll(cancel, { timeout: 60_000, interval: 200 }).toBe('cancelled');
  for (const book of [...books, second.book]) {
    const getStatus = async () => (await book.orders.get(orderUids[0] as Hex))?.status;
    await expect.poll(getStatus, { timeout: 60_000 }).toBe('cancelled');
  }
  const writes = proxy.requests.filter(({ class: name, method }) => name === 'write' && method === 'POST');
  const lost = writes.filter(({ fault }) => fault !== 'none');
  // Only a submission whose answer was lost may be sent again, and it is looked up before.
  expect(writes.length).toBeLessThanOrEqual(ORDERS + lost.length);
  for (const book of books) await book.close();
  await proxy.close();
  await second.close();
});

test('scenario 39: two processes whose clocks differ by 90 s share the turns of a class', async () => {
  const clock = manualClock();
  const ahead = { ...clock, now: () => clock.now() + 90_000 };
  const inner = memoryStore();
  const store = { ...inner, traits: { ...inner.traits, writers: 'many' as const } };
  const sent: number[] = [];
  const answer: typeof fetch = async (input) => {
    if (String(input).includes('/account/')) sent.push(clock.now()); // not the first contact
    return new Response('[]', { headers: { date: new Date(clock.now()).toUTCString() } });
  };
  const start = async (own: Clock, shared: typeof store) => {
    const upstream = orderBookUpstream({ url: 'https://book.example', fetch: answer, budget: { read: 1 } });
    const book = createOrderBook({ chainId: SEPOLIA, clock: own, store: shared, upstream });
    await book.start();
    return { book, upstream };
  };
  const first = await start(clock, store);
  const second = await start(ahead, { ...store, open: async () => {}, close: async () => {} });
  const owner = account(1).address.toLowerCase() as Hex;
  const settled = [first, second].map(async ({ upstream }) => {
    for (let i = 0; i < 20; i++) await upstream.listOrders(owner, { offset: i, limit: 1 });
  });
  for (let i = 0; i < 600 && sent.length < 40; i++) {
    clock.advance(100);
    for (let j = 0; j < 6; j++) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(sent).toHaveLength(40);
  await Promise.all(settled);
  // The first request of each process is not reserved, and a measured clock is exact to a second.
  expect((sent.at(-1) ?? 0) - (sent[2] ?? 0)).toBeGreaterThanOrEqual(36_000);
  await second.book.close();
  await first.book.close();
});
