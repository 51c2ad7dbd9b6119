import type { Competition, Order, OrderBook, OrderBookOptions } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import type { ExecutedTrade } from '../../../src/records/settled-solution.ts';
import { findSettledSolution, SETTLEMENT_MARGIN } from '../../../src/records/settled-solution.ts';
import { blockOf, eventsIn, hashOf, SETTLEMENT_HAPPENING, SOLVER, tradeOf } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { wonBy } from '../../support/competitions.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { settleData } from '../../support/settlement.ts';

const books: OrderBook[] = [];
afterEach(async () => {
  for (const book of books.splice(0)) await book.close();
});

async function open(options: Partial<OrderBookOptions> = {}): Promise<OrderBook> {
  const book = createOrderBook({ chainId: SEPOLIA, clock: manualClock(), store: memoryStore(), ...options });
  books.push(book);
  await book.start();
  return book;
}

async function submit(book: OrderBook, seed: number, choice: OrderChoice = {}): Promise<Order> {
  const validTo = Math.floor(manualClock().now() / 1000) + 600;
  const result = await book.orders.submit(
    await signOrder(account(seed), { sellAmount: '1000', buyAmount: '400', validTo, ...choice }),
  );
  const order = result.status === 'accepted' ? await book.orders.get(result.uid) : undefined;
  if (order === undefined) throw new Error('the order was not accepted');
  return order;
}

const TRANSACTION = hashOf('a settlement');

/** Applies a settlement that names an auction. */
async function settle(book: OrderBook, order: Order, { auctionId = 1, number = 6, sold = 1000n } = {}): Promise<void> {
  const bought = (sold * 6n) / 10n;
  const data = settleData([{ order, executed: sold }], { [order.sellToken]: 60n, [order.buyToken]: 100n }, auctionId);
  const through = blockOf(number);
  const happenings = [
    tradeOf(order, sold, bought, TRANSACTION),
    { ...SETTLEMENT_HAPPENING, transactionHash: TRANSACTION },
  ];
  const settleCalls = new Map([[TRANSACTION, [data]]]);
  await book.chain.apply({ events: eventsIn(through, happenings), through, settleCalls });
}

describe('settlement of another book that names the id of an own auction', () => {
  test('is no transaction of the competition, and adds neither orders nor surplus', async () => {
    const book = await open({ auctions: { protocolFees: [{ kind: 'volume', factor: 10_000 }] } });
    const other = await open();
    const [own, foreign] = [await submit(book, 1), await submit(other, 2)];
    const { id: auctionId } = await book.auctions.current();
    await book.auctions.record(wonBy([{ order: own, sold: 1000n, bought: 600n }], auctionId));
    const log = await book.log.last();

    await settle(book, foreign, { auctionId });

    expect(await book.auctions.competition(auctionId)).toMatchObject({
      transactionHashes: [],
      solutions: [{ txHash: null }],
    });
    expect(await book.auctions.competitionOfTransaction(TRANSACTION)).toBeUndefined();
    expect(await book.orders.get(foreign.uid)).toBeUndefined();
    expect((await book.orders.list({ owner: foreign.owner })).orders).toEqual([]);
    expect(await book.log.after(log, 10)).toEqual([]);
    expect(await book.trades.totalSurplus(foreign.owner)).toBe(0n);
    expect((await book.trades.list({ orderUid: foreign.uid }))[0]?.executedProtocolFees).toEqual([]);
    expect((await book.auctions.current()).orders).toEqual([]); // the own order stays in flight
  });

  test('leaves a new winner without a transaction if its solver had settled an auction that was lost', async () => {
    const book = await open();
    const [order, lost] = [await submit(book, 1), await submit(book, 2)];
    const { id: auctionId } = await book.auctions.current();
    await settle(book, lost, { auctionId });
    await book.auctions.record(wonBy([{ order, sold: 1000n, bought: 600n }], auctionId, { auctionStartBlock: 6 }));
    expect(await book.auctions.competition(auctionId)).toMatchObject({ solutions: [{ txHash: null }] });
    expect((await book.auctions.current()).orders).toEqual([]);
    expect(await book.orders.competitionStatus(lost.uid)).toMatchObject({
      value: [{ executedAmounts: { sell: '1000', buy: '600' } }],
    });
  });
});

describe('settlement below the block of its auction', () => {
  async function openWithOrder() {
    const book = await open();
    const order = await submit(book, 1, { partiallyFillable: true });
    for (const number of [1, 2, 3, 4, 5]) await book.chain.apply({ events: [], through: blockOf(number) });
    const { id: auctionId } = await book.auctions.current();
    const competition = wonBy([{ order, sold: 500n, bought: 300n }], auctionId, { auctionStartBlock: 5 });
    return { book, order, auctionId, competition };
  }

  test('belongs to it after a reorganisation, with its prices', async () => {
    const { book, order, auctionId, competition } = await openWithOrder();
    await book.auctions.record(competition);
    await book.chain.rollback(2);
    await settle(book, order, { auctionId, number: 3, sold: 500n });
    expect(await book.auctions.competition(auctionId)).toEqual({
      ...competition,
      transactionHashes: [TRANSACTION],
      solutions: [{ ...competition.solutions[0], txHash: TRANSACTION }],
    });
  });

  test('belongs to an earlier auction with the same number if it was indexed before', async () => {
    const { book, order, auctionId, competition } = await openWithOrder();
    await settle(book, order, { auctionId, number: 6, sold: 500n });
    for (const changes of [{}, { auctionDeadlineBlock: 11 }]) {
      await book.auctions.record({ ...competition, auctionStartBlock: 8, ...changes });
      expect(await book.auctions.competition(auctionId)).toMatchObject({ solutions: [{ txHash: null }] });
    }
  });
});

describe('findSettledSolution', () => {
  const [first, second, third] = [1, 2, 3].map((n) => ({
    uid: hashOf(String(n)),
    sellToken: SOLVER,
    buyToken: SOLVER,
  })) as [Win, Win, Win];
  type Win = Parameters<typeof wonBy>[0][number]['order'];
  const competition: Competition = wonBy(
    [
      { order: first, sold: 100n, bought: 50n },
      { order: second, sold: 7n, bought: 9n },
    ],
    1,
    { auctionStartBlock: 5, auctionDeadlineBlock: 10 },
  );
  /** The first and the third order are sales, the second one is a purchase. */
  const trade = ({ uid }: Win, sold: bigint, bought: bigint): ExecutedTrade => {
    return { uid, kind: uid === second.uid ? 'buy' : 'sell', sold, bought };
  };
  const ALL = [trade(first, 100n, 51n), trade(second, 6n, 9n)];
  const UNKNOWN = ALL.map((each) => ({ ...each, kind: undefined }));
  const settlement = { solver: SOLVER, blockNumber: 6, transactionHash: TRANSACTION };
  const find = (trades: readonly ExecutedTrade[], changes: object = {}) =>
    findSettledSolution(competition, { ...settlement, trades, ...changes });

  test.each<[string, readonly ExecutedTrade[], object]>([
    ['a better price than promised', ALL, {}],
    [
      'an order that is filled in two trades',
      [trade(first, 60n, 31n), trade(first, 40n, 20n), trade(second, 7n, 9n)],
      {},
    ],
    ['the block of the auction, after a reorganisation', ALL, { blockNumber: 5 }],
    ['a block before the auction, after a reorganisation', ALL, { blockNumber: 4 }],
    ['unknown kinds of orders', UNKNOWN, {}],
    ['the last block of the margin', ALL, { blockNumber: 10 + SETTLEMENT_MARGIN }],
  ])('finds the solution with %s', (_name, trades, changes) => {
    expect(find(trades, changes)).toBe(competition.solutions[0]);
  });

  test.each<[string, readonly ExecutedTrade[], object]>([
    ['of another solver', ALL, { solver: `0x${'77'.repeat(20)}` }],
    ['of a part of the orders', ALL.slice(1), {}],
    ['of a further order', [...ALL, trade(third, 1n, 1n)], {}],
    ['of half the amount', [trade(first, 50n, 25n), trade(second, 7n, 9n)], {}],
    ['of no order', [], {}],
    [
      'of another sold amount for the same bought amount of a sale',
      [trade(first, 99n, 50n), trade(second, 7n, 9n)],
      {},
    ],
    ['of another bought amount for the same sold amount of a purchase', [ALL[0], trade(second, 7n, 8n)] as never, {}],
    ['of less than promised for orders of unknown kinds', [{ ...UNKNOWN[0], bought: 49n }, UNKNOWN[1]] as never, {}],
    ['long before the auction', ALL, { blockNumber: 4 - SETTLEMENT_MARGIN }],
    ['long after the deadline', ALL, { blockNumber: 11 + SETTLEMENT_MARGIN }],
  ])('does not find it with a settlement %s', (_name, trades, changes) => {
    expect(find(trades, changes)).toBeUndefined();
  });

  test('does not find a solution that has lost', () => {
    const solutions = competition.solutions.map((each) => ({ ...each, isWinner: false }));
    expect(findSettledSolution({ ...competition, solutions }, { ...settlement, trades: ALL })).toBeUndefined();
  });
});
