import type { BlockHeader, Order } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { viemSource } from 'intentbook/viem';
import { createPublicClient, http } from 'viem';
import { expect, test } from 'vitest';
import { hashOf, tradeOf } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA } from '../../support/orders.ts';
import type { Behaviour } from '../../support/scripted-chain.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { orderOf, START, settle } from '../../unit/orders/admission-fixture.ts';
import type { Corruption } from './node.ts';
import { CORRUPTIONS, startNode } from './node.ts';

const LONG = process.env['TEST_LONG'] !== undefined;

/** Number of invalid responses before the node recovers. */
const CORRUPTED = LONG ? 40 : 8;

/** A node that reports another chain id is excluded, because it is removed permanently. Another test covers it. */
const isCalled = (method: string) => method !== 'eth_chainId' && method !== 'eth_getCode';

async function followThrough(
  corruptionOf: (n: number) => Corruption,
  sequence: { readonly blocks: number; readonly reorgLimit: number },
) {
  const clock = manualClock(START);
  const chain = scriptedChain();
  let corrupted = 0;
  let turn = 0;
  await using node = await startNode(chain, (method) =>
    isCalled(method) && corrupted < CORRUPTED && turn++ % 2 === 0 ? corruptionOf(corrupted++) : undefined,
  );
  const client = createPublicClient({ transport: http(node.url, { retryCount: 0, timeout: 100 }) });
  await using book = createOrderBook({
    chainId: SEPOLIA,
    clock,
    store: memoryStore(),
    indexer: {
      sources: [viemSource(client)],
      fromBlock: 101,
      pollInterval: 1000,
      timeout: 600_000,
      reorgLimit: sequence.reorgLimit,
      maxBlockRange: 20,
    },
  });
  const reports: string[] = [];
  book.on('failure', (failure) => reports.push(`failure ${failure}`));
  book.on('chainProgress', (event) => event.type === 'failure' && reports.push(String(event.failure)));
  await book.start();
  const result = await book.orders.submit(await orderOf({ sellAmount: '1000', partiallyFillable: true }));
  if (result.status !== 'accepted') throw result.error;
  const order = (await book.orders.get(result.uid)) as Order; // it was accepted

  for (let i = 0; i < sequence.blocks; i++) chain.mine(i % 3 === 0 ? [tradeOf(order, 7n, 7n)] : []);
  const trades = Math.ceil(sequence.blocks / 3);
  let reorganised = 0;
  for (let i = 0; (await book.chain.progress()).indexedBlock?.hash !== chain.head.hash || corrupted < CORRUPTED; i++) {
    if (i > 20_000)
      throw new Error(`it is stuck: ${JSON.stringify(await book.ready())}, ${reports.slice(-3).join(' | ')}`);
    clock.advance(1000);
    await new Promise((resolve) => setTimeout(resolve, 2));
    // The chain grows and is reorganised while the node returns invalid responses.
    if (i % 20 === 9 && reorganised < 3) {
      reorganised++;
      chain.reorganise(2, [], []);
    } else if (corrupted < CORRUPTED && i % 20 === 19) chain.mine([]);
  }
  const canonical = chain.blocks.flatMap(({ happenings }) => happenings).length;
  const read = await book.orders.get(order.uid);
  expect(read?.executedSellAmount).toBe(String(7 * canonical));
  expect((await book.trades.list({ orderUid: order.uid, limit: 1000 })).length).toBe(canonical);
  expect(canonical).toBeGreaterThan(trades - 3);
  expect(await book.ready()).toMatchObject({ ready: true, checks: { chain: 'following' } });
  // No log contains the key of the node.
  expect(reports.filter((line) => line.includes('secret-key'))).toEqual([]);
}

test.each(CORRUPTIONS)(
  'indexer reaches the same state with a node that returns %j for a while, by block and by range',
  async (corrupt) => {
    await followThrough(() => corrupt, { blocks: 12, reorgLimit: 64 });
    await followThrough(() => corrupt, { blocks: 60, reorgLimit: 8 });
  },
);

test('indexer ignores one wrong hash for an old block far from any event', async () => {
  const chain = scriptedChain();
  for (let i = 0; i < 100; i++) chain.mine([]);
  let lies = 1;
  const behaviour: Behaviour = (question, answer) => {
    const block = answer as BlockHeader | undefined; // of this method
    if (question !== 'block' || block?.number !== 121 || lies-- <= 0) return answer;
    return { ...answer, hash: hashOf('another fork') };
  };
  const clock = manualClock(START);
  const follow = {
    sources: [chain.node('node', behaviour)],
    fromBlock: 102,
    pollInterval: 1000,
    reorgLimit: 8,
    maxBlockRange: 20,
  };
  await using book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore(), indexer: follow });
  await book.start();
  for (let i = 0; i < 100; i++) {
    clock.advance(1000);
    await settle();
  }
  expect(lies).toBeLessThan(1);
  expect((await book.ready()).checks['chain']).toBe('following');
  expect((await book.chain.progress()).indexedBlock?.hash).toBe(chain.head.hash);
});

test('indexer reaches the same state with a node that returns any of these in turn', async () => {
  for (let seed = 1; seed <= (LONG ? 50 : 2); seed++) {
    const corruptionOf = (n: number) =>
      CORRUPTIONS[(n * 7 + seed * 3 + ((n * n) % 5)) % CORRUPTIONS.length] ?? 'silence';
    await followThrough(corruptionOf, { blocks: 60, reorgLimit: seed % 2 === 0 ? 8 : 64 });
  }
});
