import type { Hex } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { PricedTrade } from '../../../../src/market/slippage/observed-prices.ts';
import { createObservedPrices } from '../../../../src/market/slippage/observed-prices.ts';

const token = (n: number): Hex => `0x${n.toString(16).padStart(40, '0')}`;
const [USD, A, B, C, D] = [1, 2, 3, 4, 5].map(token) as [Hex, Hex, Hex, Hex, Hex];
const PERIOD = 300_000;
const DAY = 86_400_000;
const NOW = 1000 * PERIOD;

let trades = 0;
const trade = (members: Partial<PricedTrade> = {}): PricedTrade => ({
  key: `trade ${++trades}`,
  at: NOW,
  sellToken: A,
  buyToken: USD,
  sellAmount: 100000n,
  buyAmount: 250000n,
  ...members,
});

/** A record with a dollar token, in which every token has the given decimals, 0 by default. */
function fixture(decimals: Readonly<Record<Hex, number | undefined>> = {}) {
  const observed = createObservedPrices(new Set([USD]));
  const queried: Hex[] = [];
  const history = (of: Hex, now = NOW) =>
    observed.history(
      of,
      async (each) => {
        queried.push(each);
        return each in decimals ? decimals[each] : 0;
      },
      now,
    );
  return { ...observed, history, queried };
}

describe('observed prices: prices in dollars', () => {
  test('count for their period, and the last one wins', async () => {
    const { addPrice, history } = fixture();
    addPrice(A, 1, NOW - 1);
    addPrice(A, 2, NOW);
    addPrice(A, 3, NOW + PERIOD / 2 - 1);
    addPrice(A, 4, NOW + PERIOD / 2);
    addPrice(A, 5, NOW - PERIOD);
    expect(await history(A)).toEqual([
      { at: NOW - PERIOD, price: 5 },
      { at: NOW, price: 3 },
      { at: NOW + PERIOD, price: 4 },
    ]);
  });

  test('are returned for a day', async () => {
    const { addPrice, history } = fixture();
    addPrice(A, 1, NOW);
    expect(await history(A, NOW + DAY)).toEqual([{ at: NOW, price: 1 }]);
    expect(await history(A, NOW + DAY + 1)).toEqual([]);
  });

  test('are kept for a day after the newest one', async () => {
    const { addPrice, history } = fixture();
    addPrice(A, 1, NOW);
    addPrice(A, 2, NOW + DAY);
    expect(await history(A, NOW + DAY)).toHaveLength(2);
    addPrice(A, 3, NOW + DAY + PERIOD);
    // A clock that goes back does not show it again: it was dropped.
    expect((await history(A, NOW)).map(({ price }) => price)).toEqual([2, 3]);
  });

  test('are kept for the 1000 tokens that were updated last', async () => {
    const { addPrice, history } = fixture();
    for (let n = 0; n < 1000; n++) addPrice(token(100 + n), 1, NOW);
    expect(await history(token(100))).toHaveLength(1);
    addPrice(token(100), 2, NOW);
    addPrice(token(2000), 1, NOW);
    expect(await history(token(100))).toEqual([{ at: NOW, price: 2 }]);
    expect(await history(token(101))).toEqual([]);
    expect(await history(token(102))).toHaveLength(1);
  });

  test('of a dollar token are always one', async () => {
    const points = await fixture().history(USD, NOW + 1);
    expect(points).toHaveLength(DAY / PERIOD + 1);
    expect(points[0]).toEqual({ at: NOW - DAY, price: 1 });
    expect(points.at(-1)).toEqual({ at: NOW, price: 1 });
    expect(new Set(points.map(({ price }) => price))).toEqual(new Set([1]));
  });
});

describe('observed prices: trades', () => {
  test('give a price with a dollar token, in either direction, with the decimals of both', async () => {
    const sold = fixture({ [A]: 18, [USD]: 6 });
    sold.addTrade(trade({ sellAmount: 2000n * 10n ** 18n, buyAmount: 5000n * 10n ** 6n }));
    expect(await sold.history(A)).toEqual([{ at: NOW, price: 2.5 }]);
    const bought = fixture({ [A]: 6, [USD]: 18 });
    bought.addTrade(
      trade({ sellToken: USD, buyToken: A, sellAmount: 5000n * 10n ** 18n, buyAmount: 2000n * 10n ** 6n }),
    );
    expect(await bought.history(A)).toEqual([{ at: NOW, price: 2.5 }]);
  });

  test('of a period are weighted by volume', async () => {
    const { addTrade, history } = fixture();
    addTrade(trade({ sellAmount: 100000n, buyAmount: 100000n }));
    addTrade(trade({ sellToken: USD, buyToken: A, sellAmount: 900000n, buyAmount: 300000n }));
    addTrade(trade({ at: NOW - PERIOD, sellAmount: 10000n, buyAmount: 70000n }));
    expect(await history(A)).toEqual([
      { at: NOW - PERIOD, price: 7 },
      { at: NOW, price: 2.5 },
    ]);
  });

  test('do not replace a price in dollars of the same period', async () => {
    const { addTrade, addPrice, history } = fixture();
    addPrice(A, 9, NOW);
    addTrade(trade());
    addTrade(trade({ at: NOW - PERIOD }));
    expect((await history(A)).map(({ price }) => price)).toEqual([2.5, 9]);
  });

  test('give prices over one token between, in periods in which that token has a price', async () => {
    const { addTrade, addPrice, history } = fixture();
    addPrice(B, 10, NOW);
    addTrade(trade({ buyToken: B, sellAmount: 1000n, buyAmount: 3000n }));
    addTrade(trade({ buyToken: B, sellAmount: 1000n, buyAmount: 3000n, at: NOW - PERIOD }));
    expect(await history(A)).toEqual([{ at: NOW, price: 30 }]);
  });

  test('give prices over two trades and no more', async () => {
    const { addTrade, history, queried } = fixture();
    addTrade(trade({ sellToken: A, buyToken: B, sellAmount: 1000n, buyAmount: 2000n }));
    addTrade(trade({ sellToken: B, buyToken: USD, sellAmount: 1000n, buyAmount: 5000n }));
    addTrade(trade({ sellToken: C, buyToken: A, sellAmount: 1000n, buyAmount: 1000n }));
    addTrade(trade({ sellToken: D, buyToken: C, sellAmount: 1000n, buyAmount: 1000n }));
    expect(await history(A)).toEqual([{ at: NOW, price: 10 }]);
    expect(await history(C)).toEqual([]);
    queried.length = 0;
    expect(await history(D)).toEqual([]);
    // A, the third token of the chain, cannot give a price, so its decimals are not queried.
    expect(queried).not.toContain(A);
  });

  test.each([
    ['the token', { [A]: undefined }],
    ['the other token', { [USD]: undefined }],
  ])('give no price if the decimals of %s are unknown', async (_, decimals) => {
    const { addTrade, history } = fixture(decimals);
    addTrade(trade());
    expect(await history(A)).toEqual([]);
  });

  test.each([
    ['of one token', { buyToken: A }],
    ['without a sold amount', { sellAmount: 0n }],
    ['without a bought amount', { buyAmount: 0n }],
  ])('%s are ignored', async (_, members) => {
    const { addTrade, history, addPrice, queried } = fixture();
    addPrice(A, 1, NOW - DAY);
    addTrade(trade(members));
    expect(await history(A)).toEqual([{ at: NOW - DAY, price: 1 }]);
    expect(queried).toEqual([A]); // the token has no market
  });

  test('are removed by their key, with a market that has no other trade', async () => {
    const { addTrade, removeTrade, history, queried } = fixture();
    addTrade(trade({ key: 'x' }));
    addTrade(trade({ key: 'y', buyAmount: 500000n }));
    removeTrade('unknown');
    removeTrade('y');
    expect(await history(A)).toEqual([{ at: NOW, price: 2.5 }]);
    removeTrade('x');
    removeTrade('x');
    queried.length = 0;
    expect(await history(A)).toEqual([]);
    expect(queried).toEqual([A]);
  });

  test('are removed from one market only', async () => {
    const { addTrade, removeTrade, history, addPrice } = fixture();
    addPrice(B, 1, NOW);
    addTrade(trade({ key: 'dollars' }));
    addTrade(trade({ key: 'other', buyToken: B, sellAmount: 1000n, buyAmount: 4000n, at: NOW }));
    removeTrade('dollars');
    expect(await history(A)).toEqual([{ at: NOW, price: 4 }]);
  });

  test('are dropped when a newer one is more than a day younger', async () => {
    const { addTrade, history } = fixture();
    addTrade(trade());
    addTrade(trade({ at: NOW + DAY, sellToken: B }));
    expect(await history(A)).toHaveLength(1);
    addTrade(trade({ at: NOW + DAY + 1, sellToken: B }));
    expect(await history(A)).toEqual([]);
    expect(await history(B, NOW + DAY)).toHaveLength(1);
  });

  test('are kept up to 50,000, and the oldest are dropped', async () => {
    const { addTrade, history } = fixture();
    for (let n = 0; n < 50_000; n++) addTrade(trade({ sellToken: token(10 + (n === 0 ? 0 : 1)), buyAmount: 100000n }));
    expect(await history(token(10))).toHaveLength(1);
    addTrade(trade({ sellToken: token(11) }));
    expect(await history(token(10))).toEqual([]);
    expect(await history(token(11))).toHaveLength(1);
  });

  test('older than a day are not used', async () => {
    const { addTrade, history } = fixture();
    addTrade(trade());
    expect(await history(A, NOW + DAY)).toHaveLength(1);
    expect(await history(A, NOW + DAY + 1)).toEqual([]);
  });

  test('are added up in steps, between which other work continues', async () => {
    const { addTrade, history } = fixture();
    for (let n = 0; n < 5_000; n++) addTrade(trade({ key: String(n) }));
    let ticks = 0;
    let isOver = false;
    const count = () => {
      ticks++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    expect(await history(A)).toHaveLength(1);
    isOver = true;
    expect(ticks).toBeGreaterThan(5);
  });

  test.each([
    ['of 1 atom for 1 atom', 1n, 1n],
    ['of 10^9 atoms for 1 atom', 10n ** 9n, 1n],
    ['of 99 atoms', 99n, 10n ** 6n],
    ['of a ten thousandth of the usual volume, at twice the price', 10n ** 14n, 600_000n],
  ])('of dust state no price, in the middle and at both ends: %s', async (_name, sellAmount, buyAmount) => {
    for (const period of [1, 30, 59]) {
      const { addTrade, history } = fixture({ [A]: 18, [USD]: 6 });
      const usual = { sellToken: A, buyToken: USD, sellAmount: 10n ** 18n };
      for (let i = 1; i < 60; i++) {
        const amounts = i === period ? { sellAmount, buyAmount } : { buyAmount: 3_000_000_000n + BigInt(i % 7) };
        addTrade(trade({ ...usual, key: `${i}`, at: NOW - i * PERIOD, ...amounts }));
      }
      const points = await history(A);
      expect(points).toHaveLength(58);
      expect(points.some(({ at }) => at === NOW - period * PERIOD)).toBe(false);
    }
  });

  test('leave out a price that differs from its neighbours in one period only', async () => {
    const { addTrade, history } = fixture({ [A]: 18, [USD]: 6 });
    const prices = [1, 1, 2, 1, 1, 2, 1, 2, 2].map((level) => BigInt(level) * 100_000n);
    for (const [i, buyAmount] of prices.entries()) {
      addTrade(
        trade({ key: `${i}`, at: NOW - (9 - i) * PERIOD, sellToken: A, buyToken: USD, sellAmount: 1000n, buyAmount }),
      );
    }
    const points = await history(A);
    expect(points.map(({ at }) => (at - NOW) / PERIOD + 9)).toEqual([0, 1, 3, 4, 5, 6, 7, 8]);
  });
});
