import { join } from 'node:path';
import type { Clock, Order, OrderBook } from 'intentbook';
import { createOrderBook, systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { afterEach, expect, test } from 'vitest';
import { rollBackBook } from '../../../apps/server/commands/rollback.ts';
import { tradeOf } from '../../support/chain-events.ts';
import { account, SEPOLIA, SEPOLIA_DOMAIN, signOrder } from '../../support/orders.ts';
import type { ScriptedChain } from '../../support/scripted-chain.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { cleanUp, intentbook, scratch } from './process.ts';

afterEach(cleanUp);

const BLOCKS = 30;
const EMPTY = Array.from({ length: BLOCKS }, () => []);

/** A clock without long waits: a deep reorganisation is reported several times before an indexer stops. */
const clock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(Math.min(ms, 10), run) };

/** Starts a book that indexes a chain, from block 101 unless `begin` is false. */
async function follow(db: string, chain: ScriptedChain, begin = true): Promise<OrderBook> {
  const first = begin ? { fromBlock: 101 } : {};
  const indexer = { sources: [chain.node('node')], ...first, pollInterval: 1, reorgLimit: 5 };
  const book = createOrderBook({ chainId: SEPOLIA, clock, store: sqliteStore({ path: db }), indexer });
  book.on('failure', () => {}); // the reorganisation is too deep
  await book.start();
  return book;
}

/** Waits until the book has indexed the head of the chain, or has stopped. @returns whether it reached the head. */
async function reachesHead(book: OrderBook, chain: ScriptedChain): Promise<boolean> {
  for (;;) {
    const { indexedBlock } = await book.chain.progress();
    if (indexedBlock?.hash === chain.head.hash) return true;
    if ((await book.ready()).checks['chain']?.startsWith('stopped')) return false;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Submits a partially fillable order. */
async function submitOrder(book: OrderBook): Promise<Order> {
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const creation = await signOrder(account(1), {
    validTo,
    sellAmount: '1000',
    buyAmount: '400',
    partiallyFillable: true,
  });
  const result = await book.orders.submit(creation);
  if (result.status !== 'accepted') throw new Error('the order was not accepted');
  const order = await book.orders.get(result.uid);
  if (order === undefined) throw new Error('the order is missing');
  return order;
}

/** Creates a book whose chain reorganised deeper than the indexer follows. */
async function stoppedBook() {
  const db = join(await scratch(), 'book.sqlite');
  const chain = scriptedChain();
  const book = await follow(db, chain);
  const order = await submitOrder(book);
  chain.mine([tradeOf(order, 1n, 1n)], ...EMPTY, [tradeOf(order, 2n, 1n)]);
  expect(await reachesHead(book, chain)).toBe(true);
  chain.reorganise(20, ...EMPTY, [tradeOf(order, 4n, 2n)]);
  expect(await reachesHead(book, chain)).toBe(false);
  await book.close();
  return { db, chain, uid: order.uid };
}

test('book whose chain reorganised too deeply continues after a rollback', async () => {
  const { db, chain, uid } = await stoppedBook();
  const store = sqliteStore({ path: db });
  await store.open({ domain: SEPOLIA_DOMAIN, clock: systemClock });
  const rolledBack = await rollBackBook(store, SEPOLIA_DOMAIN, 105, [chain.node('node')], Date.now());
  expect(rolledBack).toEqual({ block: { number: 105, hash: chain.blocks[5]?.hash }, removed: 1 });
  // A repeated call completes an interrupted one, which has stored no checkpoint.
  await expect(rollBackBook(store, SEPOLIA_DOMAIN, 105, [chain.node('node')], Date.now())).rejects.toThrow(
    '--to-block must be below the indexed block 105, got 105',
  );
  await store.chain.rollback({ to: 104, at: Date.now() });
  await store.close();

  const book = await follow(db, chain);
  expect(await reachesHead(book, chain)).toBe(true);
  expect((await book.orders.get(uid))?.executedSellAmount).toBe('5');
  await book.close();
});

test('book without a first block continues after the block of a rollback', async () => {
  const db = join(await scratch(), 'book.sqlite');
  const chain = scriptedChain();
  let book = await follow(db, chain, false);
  const order = await submitOrder(book);
  expect(await reachesHead(book, chain)).toBe(true);
  const old = Array.from({ length: 1100 }, () => []); // more blocks than stored hashes
  chain.mine([], [tradeOf(order, 1n, 1n)], ...old, [tradeOf(order, 2n, 1n)]);
  expect(await reachesHead(book, chain)).toBe(true);
  await book.chain.rollback(101); // its hash is no longer stored
  await book.close();

  book = await follow(db, chain, false);
  expect(await reachesHead(book, chain)).toBe(true);
  expect((await book.orders.get(order.uid))?.executedSellAmount).toBe('3');
  await book.close();
});

test('rollback to a block whose hash neither the store nor a node knows changes nothing', async () => {
  const { db, chain } = await stoppedBook();
  const store = sqliteStore({ path: db });
  await store.open({ domain: SEPOLIA_DOMAIN, clock: systemClock });
  const before = await store.chain.progress();
  const rollBack = (to: number, nodes = [chain.node('node')]) =>
    rollBackBook(store, SEPOLIA_DOMAIN, to, nodes, Date.now());
  await expect(rollBack(103, [])).rejects.toThrow('the store has no hash of block 103; give a node with --rpc <urls>');
  await expect(rollBack(50)).rejects.toThrow('node has no block 50');
  await expect(rollBack(130)).rejects.toThrow(/^block 130 is 0x\w{64} in the book and 0x\w{64} on the node/);
  expect(await store.chain.progress()).toEqual(before);
  await store.close();
});

test('rollback to a block above the one of an interrupted rollback is rejected', async () => {
  const chain = scriptedChain();
  chain.mine(...EMPTY);
  const store = sqliteStore({ path: join(await scratch(), 'book.sqlite') });
  await store.open({ domain: SEPOLIA_DOMAIN, clock: systemClock });
  const through = { number: 120, hash: chain.blocks[20]?.hash ?? '0x' };
  await store.chain.apply({ events: [], blocks: [], through, forgetBelow: 120, at: Date.now() });
  await store.chain.rollback({ to: 105, at: Date.now() }); // no hash is left, and no checkpoint was stored yet
  const rollBack = (to: number) => rollBackBook(store, SEPOLIA_DOMAIN, to, [chain.node('node')], Date.now());
  // A checkpoint there would leave out the events of the blocks between.
  await expect(rollBack(110)).rejects.toThrow('--to-block must be at most the block of the last rollback 105, got 110');
  expect((await store.chain.progress()).rolledBackTo).toBe(105);
  expect((await rollBack(105)).block.number).toBe(105);
  await store.close();
});

test('rollback to a block of which the book has only events of another fork is rejected', async () => {
  const chain = scriptedChain();
  chain.mine(...EMPTY);
  const store = sqliteStore({ path: join(await scratch(), 'book.sqlite') });
  await store.open({ domain: SEPOLIA_DOMAIN, clock: systemClock });
  const [blockHash, transactionHash] = [`0x${'ab'.repeat(32)}`, `0x${'cd'.repeat(32)}`] as const;
  const position = { blockNumber: 103, blockHash, logIndex: 0, transactionHash, timestamp: null };
  const solver = account(1).address.toLowerCase() as `0x${string}`; // an address
  const events = [{ ...position, type: 'settlement', solver, auctionId: null }] as const;
  const through = { number: 110, hash: blockHash };
  await store.chain.apply({ events, blocks: [], through, forgetBelow: 110, at: Date.now() });
  const rollBack = (to: number) => rollBackBook(store, SEPOLIA_DOMAIN, to, [chain.node('node')], Date.now());
  await expect(rollBack(103)).rejects.toThrow(
    `block 103 is ${blockHash} in the book and ${chain.blocks[3]?.hash} on the node; select an older block`,
  );
  expect(await rollBack(102)).toEqual({ block: { number: 102, hash: chain.blocks[2]?.hash }, removed: 1 });
  await store.close();
});

test('command rolls back to a block of the store without a node', async () => {
  const { db } = await stoppedBook();
  const missing = await intentbook(['rollback', '--db', db]).ended;
  expect([missing.code, missing.stderr]).toEqual([
    2,
    'intentbook: a block is missing: intentbook rollback --to-block <block>\n',
  ]);
  const ended = await intentbook(['rollback', '--to-block', '130', '--db', db, '--json']).ended;
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  expect(JSON.parse(ended.stdout)).toMatchObject({ block: { number: 130 }, removed: 1 });
});
