import type { Hex, NewOrder, Store, TradeQuery } from 'intentbook';
import { systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { computeSurplus, createSurplusReader } from '../../../src/chain/surplus.ts';
import { apply, placement, refund, trade } from '../../conformance/chain.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, address, BOB, order, PLACED_AT, place, range } from '../../conformance/orders.ts';

/** One wei for each atom of both tokens. */
const PRICES = { sellToken: String(10n ** 18n), buyToken: String(10n ** 18n) };
const TERMS = JSON.stringify({ kind: 'sell', sellAmount: '1000000', buyAmount: '500000' });
const ORDER = order(1, { body: TERMS });

let store: Store;
beforeEach(async () => {
  store = memoryStore();
  await store.open({ domain: DOMAIN, clock: systemClock });
});
afterEach(() => store.close());

/** A trade of 100 for 50 and a surplus of `gain` wei. */
const gaining = (of: NewOrder, block: number, gain: number, logIndex = 0) =>
  trade(of, block, { sellAmount: '100', buyAmount: String(50 + gain), logIndex, prices: PRICES });

/** A reader that records its reads of trades and of the log. */
function fixture(entriesAfter: Store['events']['after'] = (id, limit) => store.events.after(id, limit)) {
  const reads: string[] = [];
  const reader = createSurplusReader({
    orders: {
      ...store.orders,
      get(uids) {
        reads.push(`${uids.length} orders`);
        return store.orders.get(uids);
      },
    },
    chain: {
      ...store.chain,
      async trades(query: TradeQuery) {
        const page = await store.chain.trades(query);
        reads.push(`${page.length} trades${query.after === undefined ? '' : ` below ${query.after.blockNumber}`}`);
        return page;
      },
    },
    events: {
      ...store.events,
      async after(id, limit) {
        const page = await entriesAfter(id, limit);
        reads.push(`${page.length} of ${limit} entries`);
        return page;
      },
    },
  });
  return {
    reader,
    /** Returns the sum of Alice and the reads that it needed. */
    async total(account: Hex = ALICE) {
      reads.length = 0;
      return [await reader.total(account), ...reads];
    },
  };
}

describe('cached surplus', () => {
  test('reads the log since the last sum, and the trades only if there are new ones', async () => {
    await place(store, ORDER);
    await apply(store, 5, gaining(ORDER, 5, 7));
    const { total } = fixture();
    expect(await total()).toEqual([7n, '1 trades', '1 orders']);
    expect(await total()).toEqual([7n]);
    await place(store, order(2));
    expect(await total()).toEqual([7n, '1 of 1 entries']);
    await apply(store, 6, gaining(ORDER, 6, 4));
    expect(await total()).toEqual([11n, '1 of 1 entries', '2 trades', '1 orders']);
    expect(await total()).toEqual([11n]);
  });

  test('ignores entries of other accounts', async () => {
    const bobs = order(3, { owner: BOB, body: TERMS });
    await place(store, ORDER, bobs);
    await apply(store, 5, gaining(ORDER, 5, 7));
    const { total } = fixture();
    await total();
    await apply(store, 6, gaining(bobs, 6, 4));
    expect(await total()).toEqual([7n, '1 of 1 entries']);
    expect(await total(BOB)).toEqual([4n, '1 trades', '1 orders']);
  });

  test('adds only the pages with new trades', async () => {
    await place(store, ORDER);
    await apply(store, 5, ...range(250).map((i) => gaining(ORDER, 5, 1, i)));
    const { total } = fixture();
    expect(await total()).toEqual([
      250n,
      '100 trades',
      '1 orders',
      '100 trades below 5',
      '1 orders',
      '50 trades below 5',
      '1 orders',
    ]);
    await apply(store, 6, ...range(99).map((i) => gaining(ORDER, 6, 2, i)));
    expect(await total()).toEqual([250n + 198n, '99 of 99 entries', '100 trades', '1 orders']);
  });

  test('is computed anew after a rollback and after an older trade', async () => {
    await place(store, ORDER);
    await apply(store, 5, gaining(ORDER, 5, 7));
    await apply(store, 6, gaining(ORDER, 6, 4));
    const { total } = fixture();
    await total();
    await store.chain.rollback({ to: 5, at: PLACED_AT });
    expect(await total()).toEqual([7n, '1 of 1 entries', '1 trades', '1 orders']);
    await apply(store, 8, gaining(ORDER, 8, 1));
    expect((await total())[0]).toBe(8n);
    await apply(store, 8, gaining(ORDER, 7, 2));
    expect(await total()).toEqual([10n, '1 of 1 entries', '3 trades', '1 orders']);
    await apply(store, 8, gaining(ORDER, 8, 5, 1));
    expect((await total())[0]).toBe(15n);
  });

  test('is computed anew when an order is placed on chain, whose older trades then count', async () => {
    await place(store, ORDER);
    await apply(store, 5, gaining(ORDER, 5, 7));
    const { total } = fixture();
    expect((await total(BOB))[0]).toBe(0n);
    await apply(store, 6, placement(6, { uid: ORDER.uid, order: ORDER }));
    expect(await total(BOB)).toEqual([7n, '1 of 1 entries', '1 trades', '1 orders']);
    await apply(store, 7, refund(ORDER, 7));
    expect(await total(BOB)).toEqual([7n, '1 of 1 entries']);
  });

  test('is added to the first trade of an account without trades', async () => {
    await place(store, ORDER);
    const { total } = fixture();
    expect(await total()).toEqual([0n, '0 trades']);
    await apply(store, 5, gaining(ORDER, 5, 7));
    expect(await total()).toEqual([7n, '1 of 1 entries', '1 trades', '1 orders']);
  });

  test.each([
    [10_000, 20],
    [10_001, 0],
  ])('over %d log entries reads %d pages of the log', async (entries, pages) => {
    await place(store, ORDER);
    await apply(store, 5, gaining(ORDER, 5, 7));
    let last = await store.events.last();
    const [entry] = await store.events.after(0, 1);
    if (entry === undefined) throw new Error('the log is empty');
    let read = 0;
    const reader = createSurplusReader({
      ...store,
      events: {
        ...store.events,
        last: async () => last,
        async after(id, limit) {
          read++;
          expect(limit).toBe(500);
          return range(limit).map((i) => ({ ...entry, id: id + 1 + i }));
        },
      },
    });
    await reader.total(ALICE);
    last += entries;
    expect(await reader.total(ALICE)).toBe(7n);
    expect(read).toBe(pages);
  });

  test('ends at the end of a log that is shorter than its last id', async () => {
    await place(store, ORDER);
    await apply(store, 5, gaining(ORDER, 5, 7));
    let last = await store.events.last();
    const reader = createSurplusReader({ ...store, events: { ...store.events, last: async () => last } });
    await reader.total(ALICE);
    last += 50;
    expect(await reader.total(ALICE)).toBe(7n);
  });

  test('charges trades, and log entries at an eighth', async () => {
    await place(store, ORDER);
    await apply(store, 5, ...range(30).map((i) => gaining(ORDER, 5, 1, i)));
    const { reader } = fixture();
    const meter = { rows: 0 };
    await reader.total(ALICE, { meter });
    expect(meter.rows).toBe(30);
    await place(store, ...range(9).map((n) => order(10 + n)));
    await reader.total(ALICE, { meter });
    expect(meter.rows).toBe(30 + 2);
  });

  test('is dropped by clear', async () => {
    await place(store, ORDER);
    await apply(store, 5, gaining(ORDER, 5, 7));
    const { reader, total } = fixture();
    await total();
    reader.clear();
    expect(await total()).toEqual([7n, '1 trades', '1 orders']);
  });

  test('is not kept by a computation that began before clear', async () => {
    await place(store, ORDER);
    await apply(store, 5, gaining(ORDER, 5, 7));
    const { reader, total } = fixture();
    const running = reader.total(ALICE);
    reader.clear();
    expect(await running).toBe(7n);
    expect(await total()).toEqual([7n, '1 trades', '1 orders']);
  });

  test('of more than 10000 accounts drops the least recently used', async () => {
    let reads = 0;
    const reader = createSurplusReader({
      orders: store.orders,
      events: { ...store.events, last: async () => 0 },
      chain: {
        ...store.chain,
        trades: async () => {
          reads++;
          return [];
        },
      },
    });
    const accounts = range(10_001).map((n) => address(n + 1));
    const [first, second, ...others] = accounts;
    if (first === undefined || second === undefined) throw new Error('no accounts');
    await Promise.all(accounts.slice(0, -1).map((account) => reader.total(account)));
    await reader.total(first);
    const newest = others.at(-1);
    if (newest !== undefined) await reader.total(newest);
    expect(reads).toBe(10_001);
    await reader.total(first);
    expect(reads).toBe(10_001);
    await reader.total(second);
    expect(reads).toBe(10_002);
  });
});

describe('surplus of trades', () => {
  test('counts 0 without prices, of an unknown order, and of an unreadable one', async () => {
    const [unknown, damaged] = [order(8, { body: TERMS }), order(9, { body: '{' })];
    await place(store, ORDER, damaged);
    await apply(
      store,
      5,
      { ...gaining(ORDER, 5, 7), prices: null },
      gaining(unknown, 5, 7, 1),
      gaining(damaged, 5, 7, 2),
      gaining(ORDER, 5, 3, 3),
    );
    const { total } = fixture();
    expect(await total()).toEqual([3n, '4 trades', '3 orders']);
  });

  test('reads no orders without priced trades', async () => {
    await place(store, ORDER);
    await apply(store, 5, { ...gaining(ORDER, 5, 7), prices: null });
    expect(await fixture().total()).toEqual([0n, '1 trades']);
  });

  test('of an order of amount 0 is 0', () => {
    const free = { kind: 'sell', sellAmount: 0n, buyAmount: -1n } as const;
    expect(computeSurplus(gaining(ORDER, 5, 7), free)).toBe(0n);
  });
});
