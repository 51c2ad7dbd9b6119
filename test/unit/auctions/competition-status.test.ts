import type { Order, OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { blockOf, eventsIn, hashOf, SETTLEMENT_HAPPENING, tradeOf } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import type { Win } from '../../support/competitions.ts';
import { wonBy } from '../../support/competitions.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { settleData } from '../../support/settlement.ts';

let book: OrderBook;
let order: Order;
const clock = manualClock();

beforeEach(async () => {
  book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore() });
  await book.start();
  order = await submit(1);
});
afterEach(() => book.close());

async function submit(seed: number): Promise<Order> {
  const terms = { sellAmount: '1000', buyAmount: '400', validTo: Math.floor(clock.now() / 1000) + 600 };
  const result = await book.orders.submit(await signOrder(account(seed), { ...terms, partiallyFillable: true }));
  const found = result.status === 'accepted' ? await book.orders.get(result.uid) : undefined;
  if (found === undefined) throw new Error('the order was not accepted');
  return found;
}

async function fill(number: number, sold: bigint, auctionId?: number): Promise<void> {
  const through = blockOf(number);
  const transactionHash = hashOf(`settlement ${number}`);
  const data = settleData([{ order, executed: sold }], { [order.sellToken]: 60n, [order.buyToken]: 100n }, auctionId);
  const happenings = [
    tradeOf(order, sold, (sold * 6n) / 10n, transactionHash),
    { ...SETTLEMENT_HAPPENING, transactionHash },
  ];
  const settleCalls = new Map([[transactionHash, [data]]]);
  await book.chain.apply({ events: eventsIn(through, happenings), through, settleCalls });
}

const applyBlock = (number: number) => book.chain.apply({ events: [], through: blockOf(number) });
const record = (auctionId: number, wins: readonly Win[], from: number) =>
  book.auctions.record(wonBy(wins, auctionId, { auctionStartBlock: from, auctionDeadlineBlock: from + 5 }));
const status = async () => (await book.orders.competitionStatus(order.uid)).type;

describe('competition status of a partially filled order', () => {
  test('is that of the remaining order', async () => {
    await applyBlock(1);
    await record(7, [{ order, sold: 300n, bought: 180n }], 1);
    expect(await status()).toBe('executing');
    await fill(3, 300n, 7);
    expect(await status()).toBe('traded');
    await book.auctions.current();
    expect(await status()).toBe('active');
    await record(8, [{ order, sold: 200n, bought: 120n }], 3);
    expect(await status()).toBe('executing');
    await applyBlock(9);
    await book.auctions.current();
    expect(await status()).toBe('active');
    await fill(10, 700n);
    expect(await status()).toBe('traded');
  });

  test('stays `executing` while newer competitions do not contain the order', async () => {
    const other = await submit(2);
    await applyBlock(1);
    await record(7, [{ order, sold: 300n, bought: 180n }], 1);
    await record(8, [{ order: other, sold: 1n, bought: 1n }], 1);
    expect(await status()).toBe('executing');
    await applyBlock(7);
    expect(await status()).not.toBe('executing');
  });

  test('does not name a lost competition that is older than the fill', async () => {
    await applyBlock(1);
    const competition = wonBy([{ order, sold: 300n, bought: 180n }], 7, {
      auctionStartBlock: 1,
      auctionDeadlineBlock: 6,
    });
    const solutions = competition.solutions.map((each) => ({ ...each, isWinner: false }));
    await book.auctions.record({ ...competition, solutions });
    expect(await status()).toBe('solved');
    await fill(3, 300n);
    expect(await status()).toBe('traded');
  });

  test('does not parse the record of an auction whose solutions lack the order', async () => {
    const other = await submit(2);
    await applyBlock(1);
    await record(7, [{ order: other, sold: 1n, bought: 1n }], 1);
    const parse = vi.spyOn(JSON, 'parse');
    expect(await status()).toBe('scheduled');
    expect(parse.mock.calls.filter(([text]) => text.includes('"solutions":'))).toEqual([]);
    parse.mockRestore();
  });
});
