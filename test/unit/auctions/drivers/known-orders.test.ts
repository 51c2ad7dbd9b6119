import type { AuctionRound, Hex, OrderBook, SettleRequest, SolverDriver, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { address, NOW, place, USDC, WETH, word } from '../../../conformance/orders.ts';
import type { ManualClock } from '../../../support/clock.ts';
import { manualClock } from '../../../support/clock.ts';
import { completeOrder } from '../../../support/complete-orders.ts';
import { SEPOLIA } from '../../../support/orders.ts';

const [ONE, TWO] = [address(0x51), address(0x52)];

let clock: ManualClock;
let store: Store;
let books: OrderBook[];
let requests: { readonly process: string; readonly request: SettleRequest }[];
let rounds: AuctionRound[];

beforeEach(async () => {
  clock = manualClock(NOW * 1000);
  store = memoryStore();
  [books, requests, rounds] = [[], [], []];
  await open();
});
afterEach(async () => {
  for (const book of books) await book.close();
});

async function open(of: Store = store): Promise<OrderBook> {
  const book = createOrderBook({
    chainId: SEPOLIA,
    clock,
    store: of,
    expiryInterval: 'off',
    auctions: { minValidity: 0 },
    quotes: { gasPrice: '0', estimators: [{ name: 'test', nativePrice: () => '1', estimate: () => undefined }] },
  });
  books.push(book);
  await book.start();
  return book;
}

/** Orders 1 and 2 exchange the same tokens in opposite directions. */
const orderOf = (n: number) =>
  completeOrder(n, {
    validTo: NOW + 100_000,
    sellToken: n % 2 === 0 ? USDC : WETH,
    buyToken: n % 2 === 0 ? WETH : USDC,
  });

interface Terms {
  readonly sellToken: Hex;
  readonly buyToken: Hex;
  readonly sellAmount: string;
  readonly buyAmount: string;
}

/** Executes an order in whole, at a multiple of its limit. */
const execute = ({ sellToken, buyToken, sellAmount, buyAmount }: Terms, factor = 5n) => ({
  side: 'sell',
  sellToken,
  limitSell: sellAmount,
  buyToken,
  limitBuy: buyAmount,
  executedSell: sellAmount,
  executedBuy: String(factor * BigInt(buyAmount)),
});

const toSolution = (solver: Hex, solutionId: number, orders: object) => {
  return { solutionId, submissionAddress: solver, orders };
};

const termsOf = (order: ReturnType<typeof orderOf>) => JSON.parse(order.body) as Terms; // a complete body

/** A driver whose settlements stay pending. */
function driverOf(name: string, solve: SolverDriver['solve'], process = name): SolverDriver {
  return {
    name,
    solve,
    settle(request) {
      requests.push({ process, request });
      return new Promise(() => {});
    },
  };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 60; i++) await new Promise(setImmediate);
}

async function next(ms = 1000): Promise<void> {
  clock.advance(ms);
  await settled();
}

async function applyBlock(number: number): Promise<void> {
  const through = { number, hash: word(number) };
  await store.chain.apply({ events: [], blocks: [], through, forgetBelow: 0, at: clock.now() });
  await next();
}

const onRound = (round: AuctionRound) => rounds.push(round);
const problems = () => rounds.flatMap((round) => round.problems.map(({ reason }) => reason));

describe('solution with an order that is not in its auction', () => {
  const [first, second] = [orderOf(1), orderOf(2)];

  /** Runs a driver that settles the first order alone, and one that adds another order to the second one. */
  async function runWith(added: Hex, terms: Terms = termsOf(first)): Promise<void> {
    const [book] = books;
    await place(store, first);
    await applyBlock(1);
    const one = driverOf('one', async ({ auction }) => ({
      solutions: auction.orders.some(({ uid }) => uid === first.uid)
        ? [toSolution(ONE, 1, { [first.uid]: execute(termsOf(first)) })]
        : [],
    }));
    const two = driverOf('two', async ({ auction }) => ({
      solutions: auction.orders.some(({ uid }) => uid === second.uid)
        ? [toSolution(TWO, 1, { [second.uid]: execute(termsOf(second)), [added]: execute(terms) })]
        : [],
    }));
    await book?.auctions.run({ drivers: [one, two], onRound });
    await settled();
    expect(requests.map(({ process }) => process)).toEqual(['one']);
    await place(store, second);
    await applyBlock(2);
  }

  test('is dropped if the order is in flight', async () => {
    await runWith(first.uid);
    expect(requests.map(({ process }) => process)).toEqual(['one']);
    expect(problems()).toEqual([`order ${first.uid} is an order of the book that is not in the auction`]);
  });

  test.each([
    ['cancelled', 3, { state: 'cancelled' as const }],
    ['not signed yet', 5, { state: 'presignaturePending' as const }],
    ['filtered for its validity', 7, { validTo: NOW - 1 }],
  ])('is dropped if the order is %s', async (_, n, changes) => {
    const other = orderOf(n);
    await place(store, { ...other, ...changes } as never); // a row in this state
    await runWith(other.uid, termsOf(other));
    expect(requests.map(({ process }) => process)).toEqual(['one']);
  });

  test('competes if the book does not know the order', async () => {
    await runWith(`0x${'01'.repeat(56)}`);
    expect(requests.map(({ process }) => process)).toEqual(['one', 'two']);
    expect(problems()).toEqual([]);
  });

  test('competes if an earlier settlement has added the order, and it is not in flight', async () => {
    const other = orderOf(3);
    await place(store, { ...other, body: other.body.replace('"isLiquidityOrder":false', '"isLiquidityOrder":true') });
    await runWith(other.uid, termsOf(other));
    expect(requests.map(({ process }) => process)).toEqual(['one', 'two']);
  });
});

test('auction that outlives its lease is neither recorded nor settled after another process has had the lease', async () => {
  const shared = new Proxy(store, {
    get: (target, name) => (name === 'open' || name === 'close' ? async () => {} : Reflect.get(target, name)),
  });
  const [first] = books;
  const second = await open(shared);
  await place(store, orderOf(1));
  await applyBlock(1);
  const bidding = (factor: bigint): SolverDriver['solve'] => {
    return async ({ auction }) => ({
      solutions: auction.orders.map((order) => toSolution(ONE, 1, { [order.uid]: execute(order, factor) })),
    });
  };
  const hanging = { reveal: () => new Promise(() => {}) };
  const best = { ...driverOf('best', bidding(9n)), ...hanging };
  const better = { ...driverOf('better', bidding(8n)), ...hanging };
  // Two solutions are not revealed, one after the other. The lease is lost meanwhile.
  const acquire = vi.spyOn(store.leases, 'acquire');
  const drivers = [best, better, driverOf('good', bidding(5n), 'first')];
  const running = await first?.auctions.run({ drivers, revealTime: 100_000, onRound });
  await settled();
  const other = await second.auctions.run({ drivers: [driverOf('good', bidding(5n), 'second')] });
  await next(50_000);
  await store.leases.release(acquire.mock.calls[0]?.[0] ?? { name: '', holder: '' });
  await next(30_000);
  for (let i = 0; i < 3; i++) await next();
  expect(requests.map(({ process }) => process)).toEqual(['second']);
  const recorded = await first?.auctions.latestCompetition();
  await other.stop();
  await next(70_000);
  expect(requests.map(({ process }) => process)).toEqual(['second']);
  expect(await first?.auctions.latestCompetition()).toEqual(recorded);
  expect(rounds).toEqual([]);
  await running?.stop();
});

test('auction whose lease is lost while its competition is recorded is not settled', async () => {
  await place(store, orderOf(1));
  await applyBlock(1);
  const { auctions, leases } = store;
  const record = auctions.record.bind(auctions);
  vi.spyOn(auctions, 'record').mockImplementation(async (...competition) => {
    vi.spyOn(leases, 'acquire').mockResolvedValue({ status: 'taken', holder: 'another', expiresAt: 0 });
    return record(...competition);
  });
  const solve: SolverDriver['solve'] = async ({ auction }) => ({
    solutions: auction.orders.map((order) => toSolution(ONE, 1, { [order.uid]: execute(order) })),
  });
  await books[0]?.auctions.run({ drivers: [driverOf('one', solve)], onRound });
  await settled();
  expect([requests, rounds]).toEqual([[], []]);
});
