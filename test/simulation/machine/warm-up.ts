import { readdirSync, readFileSync } from 'node:fs';
import type { Clock, OrderCreation, RecoveryBackend, Store } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { chainById, deployment } from '#internal';
import { createSimulatedChain } from '../chain/chain.ts';
import { createRecord } from '../chain/competitions.ts';
import { PLACING_CONTRACT } from '../chain/placements.ts';
import { STATISTICS_OPTIONS } from '../checks/statistics-check.ts';
import { loadRecovery } from '../orders/keys.ts';
import type { Pool } from '../orders/pool.ts';
import { loadPool } from '../orders/pool.ts';
import { BUY_TOKEN, CHAIN_ID, SELL_TOKEN } from '../orders/pool-order.ts';
import { createNodePort } from '../ports/chain-port.ts';
import { createMarketPort, GAS_PRICE } from '../ports/market.ts';
import { createVirtualProcess, START } from './process.ts';
import { createSeededRandom } from './random.ts';

let warm: Promise<void> | undefined;

/** How the built package loads a part of itself on first use. */
const PART = /import\(['"](\.\/[^'"]+)['"]\)/g;

/**
 * Loads every module that a book loads on first use, once per process. Otherwise the duration of a real file access
 * would decide the order of steps in the first simulation. A book is used, too: the first import of a loaded module
 * takes other numbers of microtasks than a later one.
 */
export function warmUp(): Promise<void> {
  warm ??= loadParts(new URL('../../../dist/', import.meta.url)).then(use);
  return warm;
}

/** @param folder - The built package. Each build of the simulator is three folders below the root. */
async function loadParts(folder: URL): Promise<void> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const texts = files.map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const parts = texts.flatMap((text) => [...text.matchAll(PART)].flatMap(([, path]) => path ?? []));
  for (const path of new Set(parts)) await import(new URL(path, folder).href);
}

/** Milliseconds of real time for a task of a few milliseconds, so that it ends on a loaded machine. */
const MAX_WAIT = 10_000;

async function use(): Promise<void> {
  const [pool, recovery] = await Promise.all([loadPool(), loadRecovery()]);
  const settlementContract = deployment('production', chainById(CHAIN_ID)).settlement;
  const chain = createSimulatedChain({
    pool,
    settlementContract,
    hasSettlements: true,
    nameAuction: () => 1,
    now: () => START,
  });
  chain.mine([{ type: 'trade', order: 0, amount: 1 }]);
  chain.mine([{ type: 'placement', order: pool.orders.length - 1, amount: 1 }]);
  const scheduler = { time: 0, steps: 0, after: runAtOnce, ...IDLE };
  const shared = {
    process: createVirtualProcess('warm-up', scheduler, 0),
    scheduler,
    random: createSeededRandom('warm-up'),
    onFault() {},
  };
  const node = createNodePort({ ...shared, name: 'warm-up', chain, onHidden() {} });
  const { estimators } = createMarketPort(shared);
  const clock = { now: () => START * 1000, after: () => () => {} };
  const book = createOrderBook({
    chainId: CHAIN_ID,
    store: memoryStore(),
    clock,
    recovery,
    chain: { balancesAndAllowances: async (queries) => queries.map(() => ({ balance: 9n, allowance: 9n })) },
    eip1271: 'accept-unverified',
    justInTimeOrders: 'all',
    quotes: { estimators, gasPrice: GAS_PRICE },
    indexer: { sources: [node.source], fromBlock: 101, onchainOrderContracts: [PLACING_CONTRACT] },
  });
  await book.start();
  // The default source of tokens reads balances.
  const { affiliates, usdPrices } = STATISTICS_OPTIONS;
  const accounts = createAccounts({
    books: [book],
    store: memoryAccountStore(),
    clock,
    recovery,
    affiliates,
    usdPrices,
  });
  await accounts.start();
  for (const { creation } of pool.orders) if (creation !== undefined) await book.orders.submit(creation);
  await book.orders.submit({} as OrderCreation); // only an invalid order needs the schema
  await book.balances.funds([{ owner: pool.owners[0] ?? '0x', token: SELL_TOKEN }]);
  const tokens = { sellToken: SELL_TOKEN, buyToken: BUY_TOKEN };
  await book.quotes.request({ ...tokens, kind: 'sell', from: pool.owners[0] ?? '', sellAmountBeforeFee: '10' });
  await book.orders.cancel(pool.cancel([0], 0));
  await book.orders.getMany(pool.orders.map(({ uid }) => uid));
  await book.orders.get(pool.orders[0]?.uid ?? '');
  await book.orders.list({ owner: pool.owners[0] ?? '' });
  await book.trades.list({ orderUid: pool.orders[0]?.uid ?? '' });
  const api = createApi(book);
  for (const path of [`/api/v1/orders/${pool.orders[0]?.uid}`, '/api/v1/auction']) {
    await api.handle({ method: 'GET', path, query: '', header: () => undefined, body: { type: 'none' } });
  }
  const auctions = await book.auctions.rendered.stream();
  for await (const _ of auctions) break;
  const stream = await book.orders.rendered.stream({}, { after: 0 });
  await stream.take();
  stream.leave();
  while ((await book.chain.progress()).indexedBlock?.number !== chain.head.number) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const { number: deadline } = chain.head;
  const uid = pool.orders[0]?.uid ?? '0x';
  await book.auctions.record(createRecord(1, uid, { order: 0, sold: 1n, bought: 1n, start: deadline, deadline }));
  await book.auctions.competition(1);
  await accounts.close();
  await book.close();
  // A defect may keep this submission waiting for ever. The simulation then begins without it, and finds the defect.
  await waitAtMost(MAX_WAIT, useBusyStore(pool, recovery));
}

/** Waits for a task, but not longer than `ms` of real time. */
async function waitAtMost(ms: number, task: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([task, timeout]).finally(() => clearTimeout(timer));
}

/** Submits an order while another write of its owner is running, and deletes old data. */
async function useBusyStore({ orders }: Pool, recovery: RecoveryBackend): Promise<void> {
  const inner = memoryStore();
  let isBusy = true;
  const insert: Store['orders']['insert'] = async (inserts, options) => {
    if (!isBusy) return inner.orders.insert(inserts, options);
    isBusy = false;
    return inserts.map(() => ({ status: 'busy' }));
  };
  const clock: Clock = {
    now: () => START * 1000,
    after(ms, task) {
      // The retry of an insertion has a short delay, background work has a long one.
      if (ms < 100) task();
      return () => {};
    },
  };
  const store = { ...inner, orders: { ...inner.orders, insert } };
  // Without an indexer, the first sweep deletes old data.
  const book = createOrderBook({ chainId: CHAIN_ID, store, clock, recovery, retention: 1 });
  await book.start();
  for (const { creation } of orders.slice(0, 1)) if (creation !== undefined) await book.orders.submit(creation);
  await inner.retention.pruneEvents({ before: 0, through: 0, limit: 1 });
  await book.close();
}

function runAtOnce(_: number, task: () => void): () => void {
  task();
  return () => {};
}

const IDLE = { async run() {}, async release() {} };
