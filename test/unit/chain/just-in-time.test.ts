import type { Hex, Order, OrderBook, OrderBookOptions } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import type { Happening } from '../../support/chain-events.ts';
import { blockOf, eventsIn, hashOf, placementOf, SETTLEMENT_HAPPENING, tradeOf } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { wonBy } from '../../support/competitions.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { account, COW, SEPOLIA, signOrder, WETH } from '../../support/orders.ts';
import { settleData } from '../../support/settlement.ts';

const PRICES = { [WETH.toLowerCase()]: 1n, [COW.toLowerCase()]: 1n };
const TRANSACTION = hashOf('a settlement');

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

async function submit(book: OrderBook, seed: number, choice: OrderChoice = {}, changes: object = {}): Promise<Order> {
  const validTo = Math.floor(manualClock().now() / 1000) + 600;
  const signed = await signOrder(account(seed), { sellAmount: '1000', buyAmount: '400', validTo, ...choice });
  const result = await book.orders.submit({ ...signed, ...changes });
  if (result.status !== 'accepted') throw result.error;
  return read(book, result.uid);
}

async function read(book: OrderBook, uid: Hex): Promise<Order> {
  const order = await book.orders.get(uid);
  if (order === undefined) throw new Error('there is no such order');
  return order;
}

/** Returns an order that only another book has received. */
async function orderOfAnotherBook(seed = 2, choice: OrderChoice = {}, changes: object = {}): Promise<Order> {
  return submit(await open(), seed, choice, changes);
}

/** Applies a settlement of orders at equal amounts. */
async function settle(
  book: OrderBook,
  fills: readonly { order: Order; executed?: bigint }[],
  {
    number = 5,
    auctionId,
    data,
    earlier = [],
  }: { number?: number; auctionId?: number; data?: Hex; earlier?: readonly Happening[] } = {},
): Promise<void> {
  const through = blockOf(number);
  const trades = fills.map(({ order, executed = BigInt(order.sellAmount) }) =>
    tradeOf(order, executed, executed, TRANSACTION),
  );
  const events = eventsIn(through, [...earlier, ...trades, { ...SETTLEMENT_HAPPENING, transactionHash: TRANSACTION }]);
  const settleCalls = new Map([[TRANSACTION, [data ?? settleData(fills, PRICES, auctionId)]]]);
  await book.chain.apply({ events, through, settleCalls });
}

describe('just-in-time order', () => {
  test('is served by UID, owner and transaction', async () => {
    const book = await open();
    const known = await submit(book, 1);
    const order = await orderOfAnotherBook();
    await settle(book, [{ order: known }, { order }]);

    const expected = {
      uid: order.uid,
      owner: order.owner,
      status: 'fulfilled',
      class: 'liquidity',
      isLiquidityOrder: true,
      signature: order.signature,
      signingScheme: 'eip712',
      sellAmount: '1000',
      buyAmount: '400',
      executedSellAmount: '1000',
      executedBuyAmount: '1000',
      creationDate: '2023-11-14T22:14:20.000Z',
      interactions: { pre: [], post: [] },
    };
    expect(await read(book, order.uid)).toMatchObject(expected);
    expect((await book.orders.list({ owner: order.owner })).orders).toMatchObject([expected]);
    expect((await book.orders.listByTransaction(TRANSACTION)).map(({ uid }) => uid)).toEqual([known.uid, order.uid]);
    expect(await book.trades.list({ owner: order.owner })).toMatchObject([{ orderUid: order.uid }]);
    expect((await read(book, known.uid)).class).toBe('limit');
  });

  test('is deleted by a reorganisation and stored again', async () => {
    const book = await open();
    const fills = [{ order: await submit(book, 1) }, { order: await orderOfAnotherBook() }];
    const uid = fills[1]?.order.uid ?? '0x';
    await settle(book, fills);
    await book.chain.rollback(4);
    expect(await book.orders.get(uid)).toBeUndefined();
    await settle(book, fills);
    expect((await read(book, uid)).status).toBe('fulfilled');
  });

  test('counts all of its fills, and keeps the first after a rollback of the second', async () => {
    const book = await open();
    const known = await submit(book, 1, { partiallyFillable: true });
    const order = await orderOfAnotherBook(2, { partiallyFillable: true });
    const fill = (executed: bigint) => [
      { order: known, executed },
      { order, executed },
    ];
    await settle(book, fill(100n));
    await settle(book, fill(200n), { number: 6 });
    expect(await read(book, order.uid)).toMatchObject({ status: 'open', executedSellAmount: '300' });
    await book.chain.rollback(5);
    expect(await read(book, order.uid)).toMatchObject({ status: 'open', executedSellAmount: '100' });
    expect((await book.auctions.current()).orders.map(({ uid }) => uid)).not.toContain(order.uid);
  });

  test('of a settlement that names an auction of another book is not stored, whatever orders it has', async () => {
    const book = await open();
    const shared = await submit(book, 1);
    const foreign = await orderOfAnotherBook();
    await settle(book, [{ order: shared }, { order: foreign }], { auctionId: 77 });
    expect((await read(book, shared.uid)).status).toBe('fulfilled');
    expect(await book.orders.get(foreign.uid)).toBeUndefined();
    expect((await book.orders.list({ owner: foreign.owner })).orders).toEqual([]);
  });

  /** A placement on chain, and the order as a book reads it. */
  async function placedElsewhere() {
    const [sellToken, buyToken] = [WETH.toLowerCase() as Hex, COW.toLowerCase() as Hex]; // still hex
    const placement = placementOf({ sellToken, buyToken });
    const elsewhere = await open();
    const through = blockOf(4);
    await elsewhere.chain.apply({ events: eventsIn(through, [placement]), through });
    const [order] = (await elsewhere.orders.list({})).orders;
    if (order === undefined) throw new Error('the order was not placed');
    return { placement, order };
  }

  test('is stored if the same batch places another order of its settlement', async () => {
    const { placement, order: placed } = await placedElsewhere();
    const order = await orderOfAnotherBook();
    const fills = [{ order: placed }, { order }];
    const book = await open();
    await settle(book, fills, { earlier: [placement] });
    expect(await read(book, order.uid)).toMatchObject({ status: 'fulfilled', class: 'liquidity' });
  });

  test('is not made of an order that the same batch places', async () => {
    const { placement, order: placed } = await placedElsewhere();
    const book = await open({ justInTimeOrders: 'all' });
    await settle(book, [{ order: placed }], { earlier: [placement] });
    expect(await read(book, placed.uid)).toMatchObject({ status: 'fulfilled', class: placed.class });
    await book.chain.rollback(4);
    expect(await book.orders.get(placed.uid)).toBeUndefined();
  });

  test('is created before it is traded', async () => {
    const book = await open();
    const known = await submit(book, 1);
    const order = await orderOfAnotherBook();
    await settle(book, [{ order: known }, { order }]);
    await book.chain.rollback(4);
    const events = await book.log.after(0, 100);
    const names = events
      .filter(({ uid }) => uid === order.uid)
      .map(({ type, cause }) => [type, cause?.reverted].join());
    expect(names).toEqual(['created,', 'traded,', 'reverted,traded', 'reverted,created']);
  });

  test('has the signature of its wallet without the owner that settle has before it', async () => {
    const book = await open();
    const wallet = `0x${'77'.repeat(20)}`;
    const other = await open({ eip1271: 'accept-unverified' });
    const order = await submit(other, 2, {}, { from: wallet, signingScheme: 'eip1271', signature: '0xabcdef' });
    const presigned = await orderOfAnotherBook(3, {}, { from: wallet, signingScheme: 'presign', signature: '0x' });
    await settle(book, [{ order: await submit(book, 1) }, { order }, { order: presigned }]);
    expect(await read(book, order.uid)).toMatchObject({ owner: wallet, signature: '0xabcdef', status: 'fulfilled' });
    expect(await read(book, presigned.uid)).toMatchObject({ signingScheme: 'presign', signature: '0x' });
  });

  test('is not stored if the settlement has no order and no auction of the book', async () => {
    const order = await orderOfAnotherBook();
    const book = await open();
    await settle(book, [{ order }], { auctionId: 4 });
    expect(await book.orders.get(order.uid)).toBeUndefined();
    expect(await book.trades.list({ orderUid: order.uid })).toHaveLength(1);
  });

  test('is stored if the settlement executes a winning solution of the book', async () => {
    const order = await orderOfAnotherBook();
    const book = await open();
    const { id } = await book.auctions.current();
    await book.auctions.record(wonBy([{ order, sold: 1000n, bought: 1000n }], id));
    await settle(book, [{ order }], { auctionId: id });
    expect((await read(book, order.uid)).class).toBe('liquidity');
  });

  test('is stored for every settlement, or for none, by option', async () => {
    const order = await orderOfAnotherBook();
    const all = await open({ justInTimeOrders: 'all' });
    await settle(all, [{ order }]);
    expect((await read(all, order.uid)).status).toBe('fulfilled');

    const off = await open({ justInTimeOrders: 'off' });
    await settle(off, [{ order: await submit(off, 1) }, { order }]);
    expect(await off.orders.get(order.uid)).toBeUndefined();
    await expect(open({ justInTimeOrders: 'some' as 'all' })).rejects.toThrow(
      'justInTimeOrders must be one of own, all, off, got "some"',
    );
  });

  test('is not invented by calldata of another order', async () => {
    const book = await open({ justInTimeOrders: 'all' });
    const [order, other] = [await orderOfAnotherBook(), await orderOfAnotherBook(3)];
    await settle(book, [{ order }], { data: settleData([{ order: other }], PRICES) });
    await settle(book, [{ order }], { number: 6, data: '0x13d79a0b' });
    expect(await book.orders.get(order.uid)).toBeUndefined();
    expect(await book.orders.get(other.uid)).toBeUndefined();
  });
});
