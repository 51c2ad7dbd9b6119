import type { ChainSource, IndexerObservation, OrderBook, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { BookStorage } from '../../property/book-driver.ts';
import { memoryStorage, postgresStorage, sqliteStorage } from '../../property/book-stores.ts';
import { SETTLEMENT_HAPPENING } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { temporarySchema } from '../../support/postgres.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';

const place = await temporarySchema();
afterAll(() => place[Symbol.asyncDispose]());

const open: OrderBook[] = [];
afterEach(async () => {
  for (const book of open.splice(0)) await book.close();
});

const clock = manualClock();

/** Follows a chain until a condition, or for a number of steps. */
async function follow(store: Store, sources: readonly ChainSource[], isDone: () => boolean) {
  const indexer = { sources, fromBlock: 101, pollInterval: 1000, maxBlockRange: 2000, timeout: 3_600_000 };
  const book = createOrderBook({ chainId: SEPOLIA, clock, store, indexer });
  const observed: IndexerObservation[] = [];
  book.on('chainProgress', (observation) => observed.push(observation));
  await book.start();
  open.push(book);
  for (let i = 0; i < 20_000 && !isDone(); i++) {
    clock.advance(1000);
    await book.chain.progress();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await book.close();
  open.pop();
  return observed;
}

test.each<[string, () => BookStorage]>([
  ['memory', memoryStorage],
  ['SQLite', sqliteStorage],
  ['PostgreSQL', () => postgresStorage(place)],
])('indexer on %s compares the ranges before a restart with another node', async (_, createStorage) => {
  const storage = createStorage();
  const chain = scriptedChain();
  chain.mine(...Array.from({ length: 12_000 }, (_block, i) => (i === 10 ? [SETTLEMENT_HAPPENING] : [])));
  let isDown = false;
  const ranges: number[] = [];
  const read: number[] = [];
  const answer = (value: unknown) => (isDown ? Promise.reject(new Error('down')) : value) as never;
  const node = chain.node('b', (_question, value) => answer(value));
  const two: ChainSource = {
    ...node,
    logs(query, call) {
      if ('to' in query.of) read.push(query.of.to);
      return node.logs(query, call);
    },
  };
  const one: ChainSource = {
    ...chain.node('a', (question, value) => answer(question === 'logs' ? [] : value)),
    async logs({ of }) {
      if ('from' in of) ranges.push(of.from);
      // The process ends while it catches up.
      isDown ||= ranges.length === 5;
      return answer([]);
    },
  };
  await follow(storage.connect(), [one, two], () => isDown);
  expect(read).toEqual([]);
  ranges.length = 0;
  isDown = false;
  const observed = await follow(storage.connect(), [one, two], () => (read.at(-1) ?? 0) > 12_000);

  expect(observed).toContainEqual({ type: 'missed', events: 1, block: expect.any(Number) });
  // The first node does not read its old ranges again.
  expect(Math.min(...ranges)).toBeGreaterThan(2100);
  await storage.dispose();
});
