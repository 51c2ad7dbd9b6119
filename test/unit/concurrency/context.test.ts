import { AsyncLocalStorage } from 'node:async_hooks';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { createWorker } from '../../../src/concurrency/lifecycle.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

const context = new AsyncLocalStorage<string>();

test('worker runs in the context of its creation after each wake', async () => {
  const seen: unknown[] = [];
  const worker = createWorker({
    clock: manualClock(),
    runAtStart: false,
    async run() {
      await Promise.resolve();
      seen.push(context.getStore());
      return undefined;
    },
    onFailure: (failure) => seen.push(failure),
  });
  worker.start();
  for (const name of ['first', 'second', 'third']) {
    context.run(name, worker.wake);
    context.run(`${name} again`, worker.wake);
    while (worker.running) await new Promise((resolve) => setImmediate(resolve));
  }
  await context.run('last', () => worker.drain());
  expect(new Set(seen)).toEqual(new Set([undefined]));
});

test('listeners and streams of a book run in no context of a request', async () => {
  const clock = manualClock();
  const book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore() });
  const seen: unknown[] = [];
  book.on('orderCreated', () => seen.push(context.getStore()));
  await book.start();
  book.log.watch(() => seen.push(context.getStore()));
  for (const owner of [1, 2, 3]) {
    const order = await signOrder(account(owner), { validTo: Math.floor(clock.now() / 1000) + 600 });
    await context.run(`request ${owner}`, () => book.orders.submit(order));
  }
  await book.close();
  expect(seen.length).toBeGreaterThan(3);
  expect(new Set(seen)).toEqual(new Set([undefined]));
});
