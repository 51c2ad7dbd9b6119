import type { ChainEvent, Order, OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { findNewEvents } from '../../../src/records/chain-batch.ts';
import { trade } from '../../conformance/chain.ts';
import { order } from '../../conformance/orders.ts';
import { blockOf, eventsIn, hashOf, SETTLEMENT_HAPPENING, tradeOf } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { account, COW, SEPOLIA, signOrder, WETH } from '../../support/orders.ts';
import { settleData } from '../../support/settlement.ts';

const ORDER = order(1);
const fill = (logIndex: number, sellAmount = '1') => trade(ORDER, 10, { logIndex, sellAmount });
const ofAnother = (event: ChainEvent): ChainEvent => ({ ...event, transactionHash: hashOf('another transaction') });
const positions = (events: readonly ChainEvent[], stored: readonly ChainEvent[]) => {
  const found = findNewEvents(events, stored);
  return found.status === 'new' ? found.events.map(({ logIndex }) => logIndex) : found.status;
};

describe('findNewEvents', () => {
  test.each<[string, readonly ChainEvent[], readonly ChainEvent[], readonly number[] | string]>([
    ['a stored event', [fill(1)], [fill(1)], []],
    ['a stored event under another index', [fill(8)], [fill(5)], []],
    ['one more of several equal events', [fill(1), fill(2)], [fill(2)], [1]],
    ['one more of several equal events, all under other indices', [fill(1), fill(2)], [fill(5)], [1, 2]],
    ['an equal event of another transaction', [ofAnother(fill(2))], [fill(1)], [2]],
    ['an equal event of another transaction at its index', [ofAnother(fill(1))], [fill(1)], 'contradiction'],
    ['events whose indices are exchanged', [fill(1, '2'), fill(2)], [fill(1), fill(2, '2')], []],
    ['a missing event at a free index', [fill(3), fill(4, '2')], [fill(3)], [4]],
    ['another event at a stored index', [fill(1, '2')], [fill(1)], 'contradiction'],
    ['an event repeated at the index of another one', [fill(1), fill(2)], [fill(1), fill(2, '2')], 'contradiction'],
    ['two events at one index', [fill(1), fill(1, '2')], [], 'contradiction'],
    ['all stored events after one that was missing', [fill(0, '2'), fill(1)], [fill(0)], [0, 1]],
    ['a missing event of a node that counts from 40', [fill(40, '2'), fill(41)], [fill(0)], [40, 41]],
    [
      'a missing event of such a node, but not all stored events',
      [fill(40, '2'), fill(41)],
      [fill(0), fill(1, '3')],
      [40],
    ],
    ['a missing event, but not all stored events', [fill(0, '2'), fill(1)], [fill(0), fill(1, '3')], 'contradiction'],
    ['an event with other prices', [{ ...fill(1), executedFee: null } as ChainEvent], [fill(1)], []],
  ])('%s', (_name, events, stored, expected) => {
    expect(positions(events, stored)).toEqual(expected);
  });
});

describe('chain.apply', () => {
  let book: OrderBook;
  afterEach(() => book.close());

  async function open(): Promise<Order> {
    const clock = manualClock();
    book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore() });
    await book.start();
    return submit(1);
  }

  async function submit(seed: number): Promise<Order> {
    const terms = { sellAmount: '1000', buyAmount: '400', validTo: Math.floor(manualClock().now() / 1000) + 600 };
    const result = await book.orders.submit(await signOrder(account(seed), { ...terms, partiallyFillable: true }));
    const found = result.status === 'accepted' ? await book.orders.get(result.uid) : undefined;
    if (found === undefined) throw new Error('the order was not accepted');
    return found;
  }

  test('reports two different logs at one index as a conflict, and stores neither', async () => {
    const placed = await open();
    const through = blockOf(5);
    const events = eventsIn(through, [tradeOf(placed, 100n, 50n), tradeOf(placed, 200n, 100n)]);
    const same = events.map((event) => ({ ...event, logIndex: 0 }));
    expect(await book.chain.apply({ events: same, through })).toMatchObject({ status: 'conflict', block: 5, log: 0 });
    expect(await book.orders.get(placed.uid)).toMatchObject({ executedSellAmount: '0' });
  });

  test('stores an order whose log the first node has omitted, and numbered the others from 0', async () => {
    const [first, second] = [await open(), await submit(2)];
    const through = blockOf(5);
    const trade = tradeOf(first, 1000n, 500n, hashOf('a'));
    await book.chain.apply({ events: eventsIn(through, [trade]), through });
    const events = eventsIn(through, [tradeOf(second, 1000n, 500n, hashOf('b')), trade]);
    expect(await book.chain.apply({ events, through })).toMatchObject({ status: 'applied', applied: 1, known: 1 });
    expect(await book.orders.get(second.uid)).toMatchObject({ status: 'fulfilled', executedSellAmount: '1000' });
    expect(await book.orders.get(first.uid)).toMatchObject({ status: 'fulfilled', executedSellAmount: '1000' });
    expect((await book.trades.list({ orderUid: first.uid })).map(({ logIndex }) => logIndex)).toEqual([1]);
  });

  describe('with equal trades of one transaction', () => {
    const settlement = { ...SETTLEMENT_HAPPENING, transactionHash: hashOf('a') };
    const PRICES = { [WETH.toLowerCase()]: 1n, [COW.toLowerCase()]: 1n };

    /** Applies a block with two trades of 300 atoms, and the calldata of settlements with a number of such trades. */
    async function apply(placed: Order, executions: readonly number[] | undefined, isLater = false) {
      const trade = tradeOf(placed, 300n, 300n, hashOf('a'));
      const through = blockOf(5);
      const events = eventsIn(through, [trade, ...(executions?.length === 2 ? [settlement] : []), trade, settlement]);
      const calls = executions?.map((count) => {
        return settleData(
          Array.from({ length: count }, () => ({ order: placed, executed: 300n })),
          PRICES,
        );
      });
      const settleCalls = new Map(calls === undefined ? [] : [[hashOf('a'), calls]]);
      if (isLater) await book.chain.apply({ events: events.slice(0, 1), through });
      return book.chain.apply({ events, through, settleCalls });
    }

    test.each([
      ['twice in one settlement', [2]],
      ['in two settlements', [1, 1]],
    ])('counts both if the calldata has them %s', async (_, executions) => {
      const placed = await open();
      expect(await apply(placed, executions)).toMatchObject({ status: 'applied' });
      expect(await book.orders.get(placed.uid)).toMatchObject({ executedSellAmount: '600' });
    });

    test.each([
      ['has one', [1], false],
      ['has one, and the first answer had it', [1], true],
      ['has none', [0], false],
      ['is unknown', undefined, false],
    ])('reports a conflict if the calldata %s', async (_, executions, isLater) => {
      const placed = await open();
      expect(await apply(placed, executions, isLater)).toMatchObject({ status: 'conflict', block: 5, log: 1 });
      expect(await book.orders.get(placed.uid)).toMatchObject({ executedSellAmount: isLater ? '300' : '0' });
    });

    test('reports a conflict if the calldata has another order with these amounts', async () => {
      const [placed, other] = [await open(), await submit(2)];
      const through = blockOf(5);
      const trade = tradeOf(placed, 300n, 300n, hashOf('a'));
      const data = settleData(
        [placed, other].map((order) => ({ order, executed: 300n })),
        PRICES,
      );
      const settleCalls = new Map([[hashOf('a'), [data]]]);
      const events = eventsIn(through, [trade, trade, settlement]);
      expect(await book.chain.apply({ events, through, settleCalls })).toMatchObject({ status: 'conflict', log: 1 });
    });
  });

  test('counts a log that is repeated in a batch once', async () => {
    const placed = await open();
    const through = blockOf(5);
    const events = eventsIn(through, [tradeOf(placed, 100n, 50n, hashOf('a'))]);
    const repeated = [...events, ...events.map((event) => ({ ...event, timestamp: null }))];
    expect(await book.chain.apply({ events: repeated, through })).toMatchObject({ status: 'applied', applied: 1 });
  });
});
