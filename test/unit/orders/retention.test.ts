import type { Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { createPruning } from '../../../src/orders/retention.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('retention', () => {
  async function simulated(retention: number | undefined) {
    const clock = manualClock();
    const options = { chainId: SEPOLIA, clock, expiryInterval: HOUR };
    const book = createOrderBook({
      ...options,
      store: memoryStore(),
      ...(retention === undefined ? {} : { retention }),
    });
    await book.start();
    const now = clock.now() / 1000;
    const place = async (seed: number, validTo: number) => {
      const result = await book.orders.submit(await signOrder(account(seed), { validTo }));
      if (result.status === 'rejected') throw result.error;
      return result.uid;
    };
    const short = await place(1, now + 600);
    const long = await place(2, now + 200 * 24 * 3600);
    /** Advances by an hour, like the sweep, and waits for the sweep to end. */
    const wait = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += HOUR) {
        clock.advance(HOUR);
        await settled();
      }
    };
    return { book, short, long, wait };
  }

  /** Work on an in-process store ends within some ticks of the event loop. */
  async function settled(): Promise<void> {
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  test('removes orders after the configured days and keeps live ones', async () => {
    const { book, short, long, wait } = await simulated(2);
    await wait(DAY);
    expect((await book.orders.get(short))?.status).toBe('expired');
    await wait(DAY + 3 * HOUR);
    expect(await book.orders.get(short)).toBeUndefined();
    expect((await book.orders.get(long))?.status).toBe('open');
    await book.close();
  });

  test('keeps orders by default', async () => {
    const { book, short, wait } = await simulated(undefined);
    await wait(4 * DAY);
    expect((await book.orders.get(short))?.status).toBe('expired');
    await book.close();
  });
});

test('keeps documents of orders that are placed after the clock was set back', async () => {
  const clock = manualClock();
  const store = memoryStore();
  const book = createOrderBook({ chainId: SEPOLIA, clock, store, expiryInterval: 'off' });
  await book.start();
  const time = () => clock.now() / 1000;
  const appData = '{"appCode":"clock"}';
  const order = await signOrder(account(1), { validTo: time() + 600, appData });
  const pruning = createPruning({
    store,
    clock,
    batch: 10,
    repeat: async (_isStopping, step) => void (await step()),
    // The clock was an hour ahead during the sweep, and so are the blocks.
    getBlockTime: async () => {
      expect((await book.orders.submit(order)).status).toBe('accepted');
      return time() + 3600;
    },
    bypassCache: () => () => {},
    pruneObserver: { hasListeners: () => false, notify() {} },
  });
  await pruning.run({ orders: 60, documents: 60 }, time() + 3600, () => false);
  const {
    orders: [stored],
  } = await book.orders.list({ owner: account(1).address });
  expect(stored?.fullAppData).toBe(appData);
  await book.close();
});

test('deletes a log entry after readers had an hour, also if the clock steps', async () => {
  const clock = manualClock();
  const requests: number[] = [];
  const store = {
    events: { last: async () => 7 },
    retention: {
      pruneEvents: async () => {
        requests.push(clock.monotonic?.() ?? 0);
        return 0;
      },
    },
  } as unknown as Store; // the members that are used
  const pruning = createPruning({
    store,
    clock,
    batch: 10,
    repeat: async (_isStopping, step) => void (await step()),
    getBlockTime: async () => undefined,
    bypassCache: () => () => {},
    pruneObserver: { hasListeners: () => false, notify() {} },
  });
  const run = () => pruning.run({ events: 60 }, clock.now() / 1000, () => false);
  await run();
  clock.jump(HOUR);
  await run();
  clock.jump(-3 * HOUR);
  clock.advance(HOUR - 1);
  await run();
  expect(requests).toEqual([]);
  clock.advance(1);
  await run();
  expect(requests).toEqual([HOUR]);
});

test.each([
  [{ retention: 0 }, /retention must be a positive number of days/],
  [{ retention: Number.NaN }, /retention must be a positive number of days/],
  [{ retention: 1, expiryInterval: 'off' as const }, /retention requires an expiryInterval/],
])('retention option %o is rejected', (options, message) => {
  expect(() => createOrderBook({ chainId: SEPOLIA, store: memoryStore(), ...options })).toThrow(message);
});
