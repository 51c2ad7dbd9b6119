import type { Store } from 'intentbook';
import { createApi, createOrderBook, tokenBuckets } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, expect, test } from 'vitest';
import { apply, PLACED, placement } from '../../conformance/chain.ts';
import { BOB, NOW, PLACED_AT, place, range } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { SEPOLIA } from '../../support/orders.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A book with `count` orders of Alice and one of Bob, and the rows that its store has returned. */
async function fixture(count: number) {
  const store = memoryStore();
  const rows = { orders: 0, entries: 0, largest: 0, concurrent: 0, most: 0 };
  const counted: Store = {
    ...store,
    orders: {
      ...store.orders,
      get: async (uids) => {
        const found = await store.orders.get(uids);
        rows.orders += found.length;
        rows.largest = Math.max(rows.largest, found.length);
        return found;
      },
    },
    events: {
      ...store.events,
      after: async (id, limit) => {
        rows.most = Math.max(rows.most, ++rows.concurrent);
        await new Promise((resolve) => setImmediate(resolve));
        rows.concurrent--;
        const page = await store.events.after(id, limit);
        rows.entries += page.length;
        return page;
      },
    },
  };
  const clock = manualClock(NOW * 1000);
  const book = createOrderBook({ chainId: SEPOLIA, store: counted, clock, cacheBytes: 0, expiryInterval: 'off' });
  await book.start();
  closing.push(() => book.close());
  for (let i = 0; i < count; i += 100) {
    await place(
      store,
      ...range(Math.min(100, count - i)).map((n) => completeOrder(i + n, { creationDate: PLACED_AT + n })),
    );
  }
  const bobs = completeOrder(90_001, { owner: BOB });
  await place(store, bobs);
  const reset = () => Object.assign(rows, { orders: 0, entries: 0, largest: 0, most: 0 });
  reset();
  return { book, store, rows, reset, bobs };
}

test('resumed stream of an owner reads no order of other owners', async () => {
  const { book, rows, bobs } = await fixture(1200);
  const stream = await book.orders.rendered.stream({ owner: BOB }, { after: 0 });
  const { value: event } = await stream[Symbol.asyncIterator]().next();
  expect(event?.type === 'item' && JSON.parse(event.data)).toMatchObject({ uid: bobs.uid });
  expect(rows).toMatchObject({ orders: 1, entries: 1201 });
  stream.leave();
});

test('resumed stream of an account includes orders that it has placed on chain', async () => {
  const { book, store, rows } = await fixture(10);
  const placed = completeOrder(500, { owner: PLACED.owner });
  await apply(store, 9, { ...placement(9), uid: placed.uid, order: placed });
  rows.orders = 0;
  const stream = await book.orders.rendered.stream({ owner: BOB }, { after: 11 });
  const [event] = await stream.take();
  expect(event?.type === 'item' && JSON.parse(event.data)).toMatchObject({ uid: placed.uid, onchainUser: BOB });
  expect(rows.orders).toBe(1);
  stream.leave();
});

test('resumed stream of all orders reads them in bounded steps', async () => {
  const { book, rows } = await fixture(1200);
  const stream = await book.orders.rendered.stream({}, { after: 0 });
  let events = 0;
  while (events < 1201) events += (await stream.take()).length;
  expect(rows).toMatchObject({ orders: 1201, entries: 1201 });
  expect(rows.largest).toBeLessThanOrEqual(128);
  stream.leave();
});

test('many streams that resume read few pages concurrently, and those that have left read none', async () => {
  const { book, rows, reset } = await fixture(1200);
  const streams = await Promise.all(range(40).map(() => book.orders.rendered.stream({ owner: BOB }, { after: 0 })));
  const taken = streams.map((stream) => stream.take());
  for (const stream of streams.slice(10)) stream.leave();
  await Promise.all(taken);
  expect(rows.most).toBeLessThanOrEqual(4 + 1); // and the page that all streams share
  const perStream = 1201;
  expect(rows.entries).toBeLessThan(20 * perStream);
  reset();
  for (const stream of streams) stream.leave();
});

test('a resume is charged by the log entries that it reads', async () => {
  const { book } = await fixture(1200);
  const limiter = tokenBuckets({ reads: { perSecond: 1, burst: 20 }, clock: manualClock() });
  const api = createApi(book, { limiter });
  const connect = async (after: number) => {
    const header = (name: string) => (name === 'last-event-id' ? String(after) : undefined);
    const path = '/api/v1/orders/stream';
    const response = await api.handle({ method: 'GET', path, query: '', header, body: { type: 'none' } });
    if (typeof response.body === 'object' && Symbol.asyncIterator in response.body) {
      await response.body[Symbol.asyncIterator]().return?.();
    }
    return response.status;
  };
  expect([await connect(0), await connect(0), await connect(0)]).toEqual([200, 200, 429]); // 10 tokens each
  const fresh = createApi(book, { limiter: tokenBuckets({ reads: { perSecond: 1, burst: 6 }, clock: manualClock() }) });
  const header = (name: string) => (name === 'last-event-id' ? '1201' : undefined);
  // Four tokens are taken before each, and three are returned, because nothing is missed.
  for (let i = 0; i < 3; i++) {
    const { status, body } = await fresh.handle({
      method: 'GET',
      path: '/api/v1/orders/stream',
      query: '',
      header,
      body: { type: 'none' },
    });
    expect(status).toBe(200);
    if (typeof body === 'object' && Symbol.asyncIterator in body) await body[Symbol.asyncIterator]().return?.();
  }
});
