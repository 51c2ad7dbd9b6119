import type { ChainEvent, Order, OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { findNewEvents } from '../../../src/records/new-events.ts';
import { trade } from '../../conformance/chain.ts';
import { order } from '../../conformance/orders.ts';
import { blockOf, eventsIn, hashOf, tradeOf } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

const ORDER = order(1);
const fill = (logIndex: number, sellAmount = '1') => trade(ORDER, 10, { logIndex, sellAmount });
const positions = (events: readonly ChainEvent[], stored: readonly ChainEvent[]) => {
  const found = findNewEvents(events, stored);
  return found.status === 'new' ? found.events.map(({ logIndex }) => logIndex) : found.status;
};

describe('findNewEvents', () => {
  test.each<[string, readonly ChainEvent[], readonly ChainEvent[], readonly number[] | string]>([
    ['a stored event', [fill(1)], [fill(1)], []],
    ['a stored event under another index', [fill(8)], [fill(5)], []],
    ['one more of several equal events', [fill(1), fill(2)], [fill(2)], [1]],
    ['events whose indices are exchanged', [fill(1, '2'), fill(2)], [fill(1), fill(2, '2')], []],
    ['a missing event at a free index', [fill(3), fill(4, '2')], [fill(3)], [4]],
    ['another event at a stored index', [fill(1, '2')], [fill(1)], 'contradiction'],
    ['an event repeated at the index of another one', [fill(1), fill(2)], [fill(1), fill(2, '2')], 'contradiction'],
    ['two events at one index', [fill(1), fill(1, '2')], [], 'contradiction'],
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
    const terms = { sellAmount: '1000', buyAmount: '400', validTo: Math.floor(clock.now() / 1000) + 600 };
    const result = await book.orders.submit(await signOrder(account(1), { ...terms, partiallyFillable: true }));
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

  test('counts a log that is repeated in a batch once', async () => {
    const placed = await open();
    const through = blockOf(5);
    const events = eventsIn(through, [tradeOf(placed, 100n, 50n, hashOf('a'))]);
    const repeated = [...events, ...events.map((event) => ({ ...event, timestamp: null }))];
    expect(await book.chain.apply({ events: repeated, through })).toMatchObject({ status: 'applied', applied: 1 });
  });
});
