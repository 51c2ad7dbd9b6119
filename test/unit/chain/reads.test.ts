import type { Hex, Order, OrderBook, TradeChainEvent } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { computeSurplus } from '../../../src/chain/surplus.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import type { Happening } from '../../support/chain-events.ts';
import {
  blockOf,
  eventsIn,
  hashOf,
  placementOf,
  SETTLEMENT_HAPPENING,
  SOLVER,
  TRADER,
  tradeOf,
} from '../../support/chain-events.ts';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

const ALICE = account(1);
const TRANSACTION = hashOf('a settlement');

let clock: ManualClock;
let book: OrderBook;

beforeEach(async () => {
  clock = manualClock();
  book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore() });
  await book.start();
});
afterEach(() => book.close());

async function orderOf(choice: OrderChoice = {}): Promise<Order> {
  const validTo = Math.floor(clock.now() / 1000) + 600;
  const signed = await signOrder(ALICE, { sellAmount: '1000', buyAmount: '400', validTo, ...choice });
  const result = await book.orders.submit(signed);
  if (result.status !== 'accepted') throw result.error;
  const order = await book.orders.get(result.uid);
  if (order === undefined) throw new Error('the order is not there');
  return order;
}

async function applyBlock(number: number, happenings: readonly Happening[]): Promise<void> {
  const through = blockOf(number);
  await book.chain.apply({ events: eventsIn(through, happenings), through });
}

async function get(path: string): Promise<unknown> {
  const answer = await directFixture(createApi(book), () => 0).send('GET', path);
  expect(answer.status).toBe(200);
  return answer.json();
}

const settlement = { ...SETTLEMENT_HAPPENING, transactionHash: TRANSACTION } as const;

test('trade is returned with every member that clients read', async () => {
  const order = await orderOf();
  await applyBlock(5, [{ ...tradeOf(order, 1003n, 590n, TRANSACTION), feeAmount: 3n } as Happening, settlement]);
  const trade = {
    blockNumber: 5,
    logIndex: 0,
    orderUid: order.uid,
    buyAmount: '590',
    sellAmount: '1003',
    sellAmountBeforeFees: '1000',
    owner: order.owner,
    buyToken: order.buyToken,
    sellToken: order.sellToken,
    txHash: TRANSACTION,
    executedProtocolFees: [],
  };
  for (const query of [`owner=${ALICE.address}`, `orderUid=${order.uid}`]) {
    expect(await get(`/api/v1/trades?${query}`)).toEqual([trade]);
    expect(await get(`/api/v2/trades?${query}`)).toEqual([trade]);
  }
  await book.chain.rollback(4);
  expect(await get(`/api/v1/trades?owner=${ALICE.address}`)).toEqual([]);
});

test('first trade of a token exists after a sale or purchase until its block is rolled back', async () => {
  const order = await orderOf();
  const first = async (token: string) => {
    const { firstTradeBlock } = (await get(`/api/v1/token/${token}/metadata`)) as { firstTradeBlock: number | null };
    expect(await book.trades.firstTradeBlock(token)).toBe(firstTradeBlock ?? undefined);
    return firstTradeBlock;
  };
  expect(await first(order.sellToken)).toBe(null);
  await applyBlock(5, [tradeOf(order, 1n, 1n)]);
  await applyBlock(6, [tradeOf(order, 1n, 1n)]);
  expect(await first(order.sellToken)).toBe(5);
  expect(await first(order.buyToken.toUpperCase().replace('X', 'x'))).toBe(5);
  expect(await first(order.owner)).toBe(null);
  await book.chain.rollback(4);
  expect(await first(order.buyToken)).toBe(null);
  await expect(book.trades.firstTradeBlock('COW')).rejects.toMatchObject({ code: 'InvalidParameter' });
});

test('trades are listed newest first: all in version 1, by page in version 2', async () => {
  const order = await orderOf({ partiallyFillable: true });
  for (let block = 1; block <= 6; block++) await applyBlock(block, [tradeOf(order, 1n, 1n), tradeOf(order, 2n, 1n)]);
  const places = async (path: string) =>
    ((await get(path)) as { blockNumber: number; logIndex: number }[]).map((t) => `${t.blockNumber}.${t.logIndex}`);
  const all = ['6.1', '6.0', '5.1', '5.0', '4.1', '4.0', '3.1', '3.0', '2.1', '2.0', '1.1', '1.0'];
  expect(await places(`/api/v1/trades?orderUid=${order.uid}`)).toEqual(all);
  expect(await places(`/api/v2/trades?orderUid=${order.uid}`)).toEqual(all.slice(0, 10));
  expect(await places(`/api/v2/trades?owner=${ALICE.address}&offset=9&limit=2`)).toEqual(all.slice(9, 11));
  expect(await places(`/api/v2/trades?owner=${ALICE.address}&offset=12`)).toEqual([]);
});

test('pages of trades continue at the position of their cursor, also after newer trades and a reorganisation', async () => {
  const order = await orderOf({ partiallyFillable: true });
  for (let block = 1; block <= 4; block++) await applyBlock(block, [tradeOf(order, 1n, 1n), tradeOf(order, 2n, 1n)]);
  type Position = { readonly blockNumber: number; readonly logIndex: number };
  const places = (trades: readonly Position[]) => trades.map((t) => `${t.blockNumber}.${t.logIndex}`);
  const api = directFixture(createApi(book), () => 0);
  const pages: string[][] = [];
  for (let query: string | undefined = `?owner=${ALICE.address}&offset=1&limit=3`; query !== undefined; ) {
    const answer = await api.send('GET', `/api/v2/trades${query}`);
    pages.push(places(answer.json() as Position[]));
    query = /^<(\?[^>]*)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
    await applyBlock(4 + pages.length, [tradeOf(order, 1n, 1n)]);
    if (pages.length === 2) await book.chain.rollback(1);
  }
  expect(pages).toEqual([['4.0', '3.1', '3.0'], ['2.1', '2.0', '1.1'], ['1.0']]);
  const last = await book.trades.page({ orderUid: order.uid, limit: 1, cursor: '1-1' });
  expect(places(last.trades)).toEqual(['1.0']);
  expect(last).not.toHaveProperty('next');
});

test('trades of unknown orders are listed, and those of orders placed on chain by their user', async () => {
  const order = await orderOf();
  const otherOwner = { ...order, uid: `${order.uid.slice(0, -1)}${order.uid.endsWith('0') ? 1 : 0}` as Hex };
  await applyBlock(5, [
    tradeOf(otherOwner, 1n, 1n),
    placementOf({ sellToken: order.sellToken, buyToken: order.buyToken }),
  ]);
  const [placed] = (await book.orders.list({ owner: TRADER })).orders;
  if (placed === undefined) throw new Error('nothing was placed');
  await applyBlock(6, [tradeOf(placed, 1000n, 400n)]);
  expect(await book.trades.list({ orderUid: otherOwner.uid })).toHaveLength(1);
  expect(await book.trades.list({ owner: TRADER })).toMatchObject([{ orderUid: placed.uid, owner: placed.owner }]);
});

test('orders of a transaction are listed once, in trade order', async () => {
  const [one, two] = [await orderOf({ partiallyFillable: true }), await orderOf({ sellAmount: '7' })];
  const trade = (order: Order, amount: bigint) => tradeOf(order, amount, 1n, TRANSACTION);
  await applyBlock(5, [trade(two, 7n), trade(one, 1n), trade(one, 2n), settlement]);
  const orders = (await get(`/api/v1/transactions/${TRANSACTION}/orders`)) as Order[];
  expect(orders.map(({ uid }) => uid)).toEqual([two.uid, one.uid]);
  expect(orders).toMatchObject([{ status: 'fulfilled' }, { status: 'open', executedSellAmount: '3' }]);
  expect(await book.orders.listByTransaction(TRANSACTION)).toEqual(orders);
});

describe('order competition status', () => {
  const statusOf = ({ uid }: Order) => get(`/api/v1/orders/${uid}/status`);

  test('is derived from the order state before a trade', async () => {
    const open = await orderOf();
    expect(await statusOf(open)).toEqual({ type: 'scheduled' });
    await applyBlock(5, [{ event: 'OrderInvalidated', owner: open.owner, orderUid: open.uid }]);
    expect(await statusOf(open)).toEqual({ type: 'cancelled' });
    const late = await orderOf({ sellAmount: '8' });
    clock.advance(601_000);
    expect(await statusOf(late)).toEqual({ type: 'open' });
  });

  test('is derived from the newest trade', async () => {
    const order = await orderOf({ partiallyFillable: true });
    await applyBlock(5, [tradeOf(order, 1n, 1n, TRANSACTION), settlement]);
    await applyBlock(6, [
      tradeOf(order, 2n, 1n, hashOf('another')),
      { ...settlement, transactionHash: hashOf('another') },
    ]);
    const value = [{ solver: SOLVER, executedAmounts: { sell: '2', buy: '1' } }];
    expect(await statusOf(order)).toEqual({ type: 'traded', value });
  });
});

describe('trade surplus', () => {
  const trade = (sold: string, bought: string, feeAmount = '0'): TradeChainEvent => ({
    type: 'trade',
    uid: '0x',
    owner: '0x',
    sellToken: '0x',
    buyToken: '0x',
    timestamp: null,
    blockNumber: 1,
    blockHash: '0x',
    logIndex: 0,
    transactionHash: '0x',
    executedFee: null,
    protocolFees: [],
    sellAmount: sold,
    buyAmount: bought,
    feeAmount,
    // 2 wei per sold atom, 3 per bought atom.
    prices: { sellToken: String(2n * 10n ** 18n), buyToken: String(3n * 10n ** 18n) },
  });
  const signed = (kind: 'sell' | 'buy') => ({ kind, sellAmount: 1000n, buyAmount: 400n });

  test.each([
    // More was bought than the limit of 400 for 1000: for the full amount, a half, a third (133.3).
    ['sell', trade('1000', '410'), 30n],
    ['sell', trade('500', '210'), 30n],
    ['sell', trade('333', '134'), 2n],
    ['sell', trade('1007', '410', '7'), 30n],
    // Less was sold than the limit of 1000 for 400.
    ['buy', trade('990', '400'), 20n],
    ['buy', trade('490', '200'), 20n],
    // At the limit and beyond it, there is no surplus.
    ['sell', trade('1000', '400'), 0n],
    ['sell', trade('1000', '390'), 0n],
    ['buy', trade('1010', '400'), 0n],
  ] as const)('of a %s order is the amount beyond its share of the limit', (kind, fact, wei) => {
    expect(computeSurplus(fact, signed(kind))).toBe(wei);
  });

  test('is undefined without a price', () => {
    expect(computeSurplus({ ...trade('1000', '410'), prices: null }, signed('sell'))).toBe(0n);
    expect(
      computeSurplus({ ...trade('1000', '410'), prices: { sellToken: '1', buyToken: null } }, signed('sell')),
    ).toBe(0n);
  });
});
