import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { manualClock } from '../support/clock.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../support/orders.ts';

const INTERVAL = 2000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A book over the memory store that deletes finished orders at once. */
async function fixture() {
  const clock = manualClock();
  const book = createOrderBook({
    chainId: SEPOLIA,
    clock,
    expiryInterval: INTERVAL,
    retention: 0.001,
    store: memoryStore(),
  });
  const log: string[] = [];
  for (const event of ['orderExpired', 'orderReinstated', 'orderCancelled'] as const) {
    book.on(event, () => log.push(event));
  }
  await book.start();
  /** Advances the clock in sweeps, and waits for each. */
  const wait = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += INTERVAL) {
      clock.advance(INTERVAL);
      for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const order = await signOrder(account(1), { validTo: Math.floor(clock.now() / 1000) + 30 * 24 * 3600 });
  const result = await book.orders.submit(order);
  if (result.status === 'rejected') throw result.error;
  const { uid } = result;
  const cancel = async () => {
    const orderUids = [uid];
    return book.orders.cancel({ orderUids, ...(await signCancellation(account(1), { orderUids })) });
  };
  return { book, clock, wait, order, uid, cancel, log };
}

test('a jump of the clock that is corrected within a minute changes nothing', async () => {
  const { book, clock, wait, uid, log } = await fixture();
  await wait(HOUR);
  clock.jump(400 * DAY);
  await wait(30_000);
  clock.jump(-400 * DAY);
  await wait(HOUR);
  expect((await book.orders.get(uid))?.status).toBe('open');
  expect(log).toEqual([]);
  await book.close();
});

test('an expiry that a wrong clock has recorded is reverted when the clock is right again', async () => {
  const { book, clock, wait, uid, cancel, log } = await fixture();
  clock.jump(31 * DAY);
  await wait(5 * 60_000);
  expect(log).toEqual(['orderExpired']);
  clock.jump(-31 * DAY);
  await wait(5 * 60_000);
  expect(log).toEqual(['orderExpired', 'orderReinstated']);
  expect((await book.orders.list({ status: 'open' })).orders.map((order) => order.uid)).toEqual([uid]);
  expect((await cancel()).status).toBe('cancelled');
  await book.close();
});

test('an order whose expiry was recorded too early can be cancelled at once', async () => {
  const { book, clock, wait, cancel, log } = await fixture();
  clock.jump(31 * DAY);
  await wait(5 * 60_000);
  clock.jump(-31 * DAY);
  expect((await cancel()).status).toBe('cancelled');
  await wait(INTERVAL);
  expect(log).toEqual(['orderExpired', 'orderReinstated', 'orderCancelled']);
  await book.close();
});

test('a cancelled order that a wrong clock has deleted cannot be submitted again', async () => {
  const { book, clock, wait, order, uid, cancel } = await fixture();
  expect((await cancel()).status).toBe('cancelled');
  clock.jump(400 * DAY);
  await wait(2 * HOUR);
  expect(await book.orders.get(uid)).toBeUndefined();
  clock.jump(-400 * DAY);
  await wait(HOUR);
  const again = await book.orders.submit(order);
  expect(again.status === 'rejected' && again.error.code).toBe('DuplicatedOrder');
  await book.close();
});
