import type { ChainApplied, Hex, Order, OrderBook, OrderBookOptions, OrderEvent } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Happening } from '../../support/chain-events.ts';
import {
  blockOf,
  eventsIn,
  hashOf,
  placementOf,
  SETTLEMENT_HAPPENING,
  TRADER,
  tradeOf,
} from '../../support/chain-events.ts';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { account, COW, SEPOLIA, signOrder, WETH } from '../../support/orders.ts';
import { settleData } from '../../support/settlement.ts';

const ALICE = account(1);
const [SELL_TOKEN, BUY_TOKEN] = [WETH.toLowerCase() as Hex, COW.toLowerCase() as Hex]; // in lower case
const TRANSACTION = hashOf('a settlement');

let clock: ManualClock;
let book: OrderBook;
let received: [name: string, event: OrderEvent][];
let applied: ChainApplied[];
let failures: unknown[];

beforeEach(() => open());
afterEach(() => book.close());

const ORDER_EVENTS = [
  'orderCreated',
  'orderCancelled',
  'orderPlaced',
  'orderPresigned',
  'orderPresignatureRevoked',
  'orderTraded',
  'orderRefunded',
  'orderReverted',
] as const;

async function open(options: Partial<OrderBookOptions> = {}): Promise<void> {
  clock = manualClock();
  book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore(), ...options });
  [received, applied, failures] = [[], [], []];
  for (const name of ORDER_EVENTS) book.on(name as 'orderCreated', (event) => received.push([name, event]));
  book.on('chainApplied', (observation) => applied.push(observation));
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
}

async function orderOf(choice: OrderChoice = {}, changes: object = {}): Promise<Order> {
  const validTo = Math.floor(clock.now() / 1000) + 600;
  const signed = await signOrder(ALICE, { sellAmount: '1000', buyAmount: '400', validTo, ...choice });
  const result = await book.orders.submit({ ...signed, ...changes });
  if (result.status !== 'accepted') throw result.error;
  return read(result.uid);
}

async function read(uid: Hex): Promise<Order> {
  const order = await book.orders.get(uid);
  if (order === undefined) throw new Error('there is no such order');
  return order;
}

/** Applies one block to the book. */
async function applyBlock(
  number: number,
  happenings: readonly Happening[],
  settleCalls?: ReadonlyMap<Hex, readonly Hex[]>,
) {
  const through = blockOf(number);
  const calls = settleCalls === undefined ? {} : { settleCalls };
  return book.chain.apply({ events: eventsIn(through, happenings), through, ...calls });
}

/** Returns the names of received events with their block. */
async function story(): Promise<string[]> {
  await new Promise((resolve) => setImmediate(resolve));
  return received.map(([name, { cause }]) => (cause === undefined ? name : `${name} ${cause.position.blockNumber}`));
}

describe('trade event', () => {
  test('fills an order, with the fee from the settlement calldata', async () => {
    const order = await orderOf();
    const prices = { [SELL_TOKEN]: 60n, [BUY_TOKEN]: 100n };
    const data = settleData([{ order, custom: [59n, 100n] }], prices, 77);
    const settlement = { ...SETTLEMENT_HAPPENING, transactionHash: TRANSACTION };
    await applyBlock(5, [tradeOf(order, 1000n, 590n, TRANSACTION), settlement], new Map([[TRANSACTION, [data]]]));
    // 1000 sold bring 590 instead of 600; the missing 10 are worth 10 × 100 / 60 of the sell token.
    expect(await read(order.uid)).toMatchObject({
      status: 'fulfilled',
      executedSellAmount: '1000',
      executedBuyAmount: '590',
      executedFee: '16',
      executedFeeToken: SELL_TOKEN,
    });
    expect(applied).toMatchObject([{ applied: 2, known: 0, unattributed: 0 }]);
  });

  test('without calldata fills an order and is counted', async () => {
    const order = await orderOf();
    await applyBlock(5, [tradeOf(order, 1000n, 590n), SETTLEMENT_HAPPENING]);
    expect(await read(order.uid)).toMatchObject({
      status: 'fulfilled',
      executedFee: '0',
      executedFeeToken: SELL_TOKEN,
    });
    expect(applied).toMatchObject([{ unattributed: 1 }]);
  });

  test('gets no fee from the calldata of another settlement', async () => {
    const [order, other] = [await orderOf(), await orderOf({ sellAmount: '1001' })];
    const data = settleData([{ order: other, custom: [59n, 100n] }], { [SELL_TOKEN]: 60n, [BUY_TOKEN]: 100n });
    const settlement = { ...SETTLEMENT_HAPPENING, transactionHash: TRANSACTION };
    for (const inputs of [[data], [data, data], [], ['0x13d79a0b' as const]]) {
      await book.chain.rollback(4);
      await applyBlock(5, [tradeOf(order, 1000n, 590n, TRANSACTION), settlement], new Map([[TRANSACTION, inputs]]));
      expect((await read(order.uid)).executedFee).toBe('0');
    }
  });

  test('gets the fee of the right settlement among two in a transaction', async () => {
    const [one, two] = [await orderOf(), await orderOf({ sellAmount: '1001' })];
    const prices = { [SELL_TOKEN]: 60n, [BUY_TOKEN]: 100n };
    const inputs = [settleData([{ order: one }], prices), settleData([{ order: two, custom: [50n, 100n] }], prices)];
    const settlement = { ...SETTLEMENT_HAPPENING, transactionHash: TRANSACTION };
    const trades = [tradeOf(one, 1000n, 600n, TRANSACTION), tradeOf(two, 1001n, 501n, TRANSACTION)] as const;
    await applyBlock(5, [trades[0], settlement, trades[1], settlement], new Map([[TRANSACTION, inputs]]));
    expect((await read(one.uid)).executedFee).toBe('0');
    // 601 instead of 501: 100 × 100 / 60.
    expect((await read(two.uid)).executedFee).toBe('166');
  });

  test('waits for an order that is not stored', async () => {
    const order = await orderOf();
    await open();
    await applyBlock(5, [tradeOf(order, 1000n, 590n)]);
    expect((await orderOf()).uid).toBe(order.uid);
    expect((await read(order.uid)).status).toBe('fulfilled');
    expect(await story()).toEqual(['orderCreated', 'orderTraded 5']);
  });
});

test('order filled in parts emits one event per part', async () => {
  const order = await orderOf({ partiallyFillable: true });
  for (const [number, amount] of [100n, 250n, 650n].entries()) {
    await applyBlock(number + 1, [tradeOf(order, amount, amount / 2n)]);
  }
  expect(await read(order.uid)).toMatchObject({ status: 'fulfilled', executedBuyAmount: '500' });
  expect(await story()).toEqual(['orderCreated', 'orderTraded 1', 'orderTraded 2', 'orderTraded 3']);
  const trades = received.flatMap(([, { cause }]) => cause?.trade ?? []);
  expect(trades.map(({ completes }) => completes)).toEqual([false, false, true]);
});

describe('repeated chain events', () => {
  test('count once', async () => {
    const order = await orderOf({ partiallyFillable: true });
    const trade = tradeOf(order, 100n, 50n);
    for (const _ of [1, 2]) await applyBlock(5, [trade, trade]);
    expect(await read(order.uid)).toMatchObject({ executedSellAmount: '200' });
    expect(applied).toMatchObject([
      { applied: 2, known: 0 },
      { applied: 0, known: 2, unattributed: 0 },
    ]);
  });

  test('are sorted into chain order', async () => {
    const order = await orderOf({}, { signingScheme: 'presign', signature: '0x' });
    const sign = (signed: boolean) =>
      ({ event: 'PreSignature', owner: order.owner, orderUid: order.uid, signed }) as const;
    const through = blockOf(5);
    const events = eventsIn(through, [sign(true), sign(false), sign(true)]);
    await book.chain.apply({ events: [...events.reverse(), ...events], through });
    expect((await read(order.uid)).status).toBe('open');
    expect(await story()).toEqual([
      'orderCreated',
      'orderPresigned 5',
      'orderPresignatureRevoked 5',
      'orderPresigned 5',
    ]);
  });
});

test('rolled back block reverts its effects and restores them when it returns', async () => {
  const order = await orderOf({ partiallyFillable: true });
  await applyBlock(5, [tradeOf(order, 100n, 50n)]);
  const before = await read(order.uid);
  await applyBlock(6, [
    tradeOf(order, 900n, 450n),
    { event: 'OrderInvalidated', owner: order.owner, orderUid: order.uid },
  ]);
  expect((await read(order.uid)).status).toBe('fulfilled');
  await book.chain.rollback(5);
  expect(await read(order.uid)).toEqual(before);
  const again = blockOf(6, 'b');
  await book.chain.apply({ events: eventsIn(again, [tradeOf(order, 300n, 150n)]), through: again });
  expect(await read(order.uid)).toMatchObject({ status: 'open', executedSellAmount: '400' });
  expect(await story()).toEqual(['orderCreated', 'orderTraded 5', 'orderTraded 6', 'orderReverted 6', 'orderTraded 6']);
});

test('invalidation of a filled order is read at once, although the log has no entry for it', async () => {
  const order = await orderOf();
  await applyBlock(5, [tradeOf(order, 1000n, 590n)]);
  expect(await read(order.uid)).toMatchObject({ status: 'fulfilled', invalidated: false });
  const invalidation: Happening = { event: 'OrderInvalidated', owner: order.owner, orderUid: order.uid };
  await applyBlock(6, [invalidation]);
  expect(await read(order.uid)).toMatchObject({ status: 'fulfilled', invalidated: true });
  await book.chain.rollback(5);
  expect(await read(order.uid)).toMatchObject({ status: 'fulfilled', invalidated: false });
});

describe('concurrent chain batches do not conflict', () => {
  test('because of the indexed block', async () => {
    const first = { events: [], through: blockOf(5), after: null };
    expect(await book.chain.apply(first)).toMatchObject({ status: 'applied' });
    expect(await book.chain.apply({ events: [], through: blockOf(6), after: null })).toEqual({
      status: 'moved',
      indexedBlock: blockOf(5),
    });
    expect(await book.chain.rollback(2, { after: blockOf(4) })).toEqual({ status: 'moved', indexedBlock: blockOf(5) });
    expect((await book.chain.progress()).indexedBlock).toEqual(blockOf(5));
    await book.chain.rollback(3);
    const again = { events: [], through: blockOf(4), after: null };
    expect(await book.chain.apply({ ...again, rolledBackTo: 4 })).toEqual({ status: 'moved', indexedBlock: null });
    expect(await book.chain.apply({ ...again, rolledBackTo: 3 })).toMatchObject({ status: 'applied' });
  });

  test('because of the block hashes', async () => {
    await applyBlock(5, []);
    const through = blockOf(5, 'b');
    expect(await book.chain.apply({ events: [], through })).toMatchObject({ status: 'conflict', block: 5 });
  });
});

test('inconsistent chain batch is rejected', async () => {
  const through = blockOf(5);
  const late = eventsIn(blockOf(6), [SETTLEMENT_HAPPENING]);
  const forked = eventsIn(blockOf(4), [SETTLEMENT_HAPPENING]).concat(eventsIn(blockOf(4, 'b'), [SETTLEMENT_HAPPENING]));
  for (const events of [late, forked, eventsIn(blockOf(5, 'b'), [SETTLEMENT_HAPPENING])]) {
    await expect(book.chain.apply({ events, through })).rejects.toThrow(TypeError);
  }
  await expect(book.chain.rollback(-2)).rejects.toThrow(TypeError);
  expect((await book.chain.progress()).indexedBlock).toBeNull();
});

describe('order placed on chain', () => {
  const tokens = { sellToken: SELL_TOKEN, buyToken: BUY_TOKEN };
  const placed = async (): Promise<Order> => {
    const { orders } = await book.orders.list({ owner: TRADER });
    const [order] = orders;
    if (order === undefined) throw new Error('nothing was placed');
    return order;
  };

  test('is stored as its user requested and removed with its block', async () => {
    await applyBlock(5, [placementOf(tokens)]);
    const order = await placed();
    expect(order).toMatchObject({
      status: 'open',
      onchainUser: TRADER,
      validTo: 0xffff_ffff,
      signingScheme: 'eip1271',
      onchainOrderData: { sender: TRADER },
      creationDate: '2023-11-14T22:14:20.000Z',
      ethflowData: { userValidTo: 1_700_003_600, refundTxHash: null, isRefunded: false },
      interactions: { pre: [{ target: order.owner, value: '0', callData: '0x4c84c1c8' }], post: [] },
    });
    expect(order.onchainOrderData).not.toHaveProperty('placementError');
    await book.chain.rollback(4);
    expect(await book.orders.get(order.uid)).toBeUndefined();
    expect(await story()).toEqual(['orderCreated 5', 'orderReverted 5']);
  });

  test("expires at its user's validity, not at that of its signature", async () => {
    await applyBlock(5, [placementOf(tokens, { userValidTo: 1_700_000_700 })]);
    const { uid } = await placed();
    clock.advance(700_000);
    expect((await read(uid)).status).toBe('open');
    clock.advance(1000);
    expect((await read(uid)).status).toBe('expired');
  });

  test('is refunded', async () => {
    await applyBlock(5, [placementOf(tokens)]);
    const { uid, owner } = await placed();
    const refund = { event: 'OrderRefund', address: owner, orderUid: uid, refunder: TRADER } as const;
    await applyBlock(6, [{ ...refund, transactionHash: TRANSACTION }]);
    expect((await read(uid)).ethflowData).toMatchObject({ refundTxHash: TRANSACTION, isRefunded: true });
    await book.chain.rollback(5);
    expect((await read(uid)).ethflowData).toMatchObject({ refundTxHash: null, isRefunded: false });
  });

  test.each(['OrderInvalidation', 'OrderRefund'] as const)(
    'ignores %s of a contract that does not own it',
    async (event) => {
      await applyBlock(5, [placementOf(tokens)]);
      const { uid, owner } = await placed();
      const before = await read(uid);
      const stranger = `0x${'e5'.repeat(20)}` as const;
      await applyBlock(6, [{ event, address: stranger, orderUid: uid, refunder: TRADER } as Happening]);
      expect(await read(uid)).toEqual(before);
      await applyBlock(7, [{ event, address: owner, orderUid: uid, refunder: TRADER } as Happening]);
      expect(await read(uid)).not.toEqual(before);
    },
  );

  test.each([
    ['ValidToTooFarInFuture', placementOf(tokens, { userValidTo: 1_900_000_000 })],
    ['PreValidationError', placementOf({ ...tokens, buyAmount: 0n })],
    ['PreValidationError', placementOf({ ...tokens, feeAmount: 1n })],
    [
      'PreValidationError',
      placementOf({ sellToken: '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', buyToken: SELL_TOKEN }),
    ],
    ['PreValidationError', placementOf({ sellToken: SELL_TOKEN, buyToken: SELL_TOKEN })],
    [undefined, placementOf(tokens)],
  ])('reports its error: %s', async (placementError, occurrence) => {
    await applyBlock(5, [occurrence]);
    expect((await placed()).onchainOrderData).toEqual({ sender: TRADER, placementError });
  });

  test.each([
    ['data of another size', placementOf(tokens, { data: '0x1234' })],
    ['an invalid kind', placementOf({ ...tokens, kind: hashOf('swap') })],
    ['an invalid scheme', { ...placementOf(tokens), signature: { scheme: 2, data: '0x' } } as Happening],
  ])('is ignored with %s', async (_, occurrence) => {
    await applyBlock(5, [occurrence]);
    expect(applied).toMatchObject([{ applied: 0, ignored: 1 }]);
  });

  test('has the hooks of a known document', async () => {
    const hook = { target: `0x${'d4'.repeat(20)}`, callData: '0x1234', gasLimit: '21000' };
    const document = JSON.stringify({ metadata: { hooks: { post: [hook] } } });
    await book.appData.put(document);
    await applyBlock(5, [placementOf({ ...tokens, appData: hashOf(document) })]);
    const order = await placed();
    expect(order).toMatchObject({ fullAppData: document, interactions: { post: [{ value: '0' }] } });
  });

  describe('with quotes', () => {
    const open400 = (amount: bigint | undefined | Error) =>
      open({
        quotes: {
          gasPrice: '0',
          estimators: [
            {
              name: 'test',
              nativePrice: () => '1',
              estimate: () => {
                if (amount instanceof Error) throw amount;
                return amount === undefined ? undefined : { amount, gas: 1 };
              },
            },
          ],
        },
      });

    test('has the quote that it names', async () => {
      await book.close();
      await open400(444n);
      const result = await book.quotes.request({
        ...tokens,
        from: TRADER,
        kind: 'sell',
        sellAmountBeforeFee: '1000',
        onchainOrder: true,
        signingScheme: 'eip1271',
      });
      if (result.status !== 'quoted' || result.quote.id === null) throw new Error('no quote');
      await applyBlock(5, [placementOf(tokens, { quoteId: result.quote.id })]);
      const order = await read((await placed()).uid);
      expect(order.quote).toMatchObject({ sellAmount: '1000', buyAmount: '444' });
      expect(order.onchainOrderData).toEqual({ sender: TRADER });
    });

    test('gets a new quote if the named one is unknown', async () => {
      await book.close();
      await open400(333n);
      await applyBlock(5, [placementOf(tokens, { quoteId: 12345 })]);
      expect((await read((await placed()).uid)).quote).toMatchObject({ buyAmount: '333' });
    });

    test('reports a missing price unless it has expired', async () => {
      await book.close();
      await open400(undefined);
      await applyBlock(5, [placementOf(tokens)]);
      expect((await placed()).onchainOrderData).toEqual({ sender: TRADER, placementError: 'QuoteNotFound' });
      await book.chain.rollback(4);
      clock.advance(3_700_000);
      await applyBlock(5, [placementOf(tokens)]);
      expect((await placed()).onchainOrderData).toEqual({ sender: TRADER });
    });

    test('has no error if an estimator fails, since the failure may be temporary', async () => {
      await book.close();
      await open400(new Error('the node does not respond'));
      await applyBlock(5, [placementOf(tokens)]);
      expect((await placed()).onchainOrderData).toEqual({ sender: TRADER });
    });
  });
});

test('chain methods reject before the book is started', async () => {
  await book.close();
  await expect(book.chain.apply({ events: [], through: blockOf(1) })).rejects.toMatchObject({ code: 'Closed' });
  await expect(book.chain.rollback(1)).rejects.toMatchObject({ code: 'Closed' });
  await expect(book.chain.progress()).rejects.toMatchObject({ code: 'Closed' });
  expect(failures).toEqual([]);
});
