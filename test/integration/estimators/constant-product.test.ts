import fc from 'fast-check';
import type { Estimate, Estimator, Hex, OrderKind, Trade } from 'intentbook';
import type { ConstantProductOptions, Pool } from 'intentbook/estimators';
import { amountIn, amountOut, constantProduct } from 'intentbook/estimators';
import { describe, expect, test } from 'vitest';
import { COW, WETH } from '../../support/orders.ts';
import { hanging, quoted, quotesFixture, SELL, settle, watch } from '../../unit/quotes/quotes-fixture.ts';

const token = (n: number): Hex => `0x${n.toString(16).padStart(40, '0')}`;
const [A, B, C, D] = [token(1), token(2), token(3), token(4)];
const context = { signal: new AbortController().signal, timeout: 1 };
const M = 10n ** 6n;

const estimate = async (
  pools: readonly Pool[],
  kind: OrderKind,
  amount: bigint,
  options: ConstantProductOptions = {},
  [sellToken, buyToken] = [A, D],
) => (await waysOf(constantProduct(pools, options), { sellToken, buyToken, kind, amount })).at(-1);

/** Returns all routes of an estimator: the last is the best without gas. */
const waysOf = async (source: Estimator, trade: Trade) =>
  (await source.estimate(trade, context)) as readonly Estimate[];

const ascending = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

const pathOf = (found: Estimate | undefined) => found?.metadata?.['path'];

describe('constant-product formula', () => {
  const reserve = fc.bigInt({ min: 1n, max: 2n ** 112n - 1n });
  const fee = fc.nat(999_999);

  test('output keeps the product, and one atom more would not', () => {
    fc.assert(
      fc.property(reserve, reserve, reserve, fee, (sold, x, y, ppm) => {
        const bought = amountOut(sold, x, y, ppm);
        expect(bought).toBeLessThan(y);
        const kept = sold * (M - BigInt(ppm));
        const product = (out: bigint) => (x * M + kept) * (y - out);
        expect(product(bought) >= x * M * y).toBe(true);
        expect(product(bought + 1n) >= x * M * y).toBe(false);
      }),
    );
  });

  test('input is sufficient for the requested output', () => {
    fc.assert(
      fc.property(reserve, reserve, reserve, fee, (bought, x, y, ppm) => {
        const sold = amountIn(bought, x, y, ppm);
        expect(sold === undefined).toBe(bought >= y);
        if (sold !== undefined) expect(amountOut(sold, x, y, ppm)).toBeGreaterThanOrEqual(bought);
      }),
    );
  });

  test('zero input gives zero output, and an empty pool gives nothing', () => {
    expect(amountOut(0n, 5n, 5n)).toBe(0n);
    expect(amountOut(5n, 0n, 0n)).toBe(0n);
    expect(amountIn(1n, 0n, 5n)).toBeUndefined();
  });

  test('a pool with one empty side trades neither way (UniswapV2Library.sol, INSUFFICIENT_LIQUIDITY)', async () => {
    expect(amountOut(1n, 0n, 10n ** 18n)).toBe(0n);
    expect(amountOut(1n, 10n ** 18n, 0n)).toBe(0n);
    const oneSided: Pool[] = [{ tokens: [A, D], reserves: [0n, 10n ** 18n] }];
    for (const kind of ['sell', 'buy'] as const) {
      expect(await estimate(oneSided, kind, 1n)).toBeUndefined();
      expect(await estimate(oneSided, kind, 1n, {}, [D, A])).toBeUndefined();
    }
  });
});

describe('constant-product routes', () => {
  const pool = (a: Hex, b: Hex, x: bigint, y: bigint, fee?: number): Pool => ({
    tokens: [a, b],
    reserves: [x, y],
    ...(fee === undefined ? {} : { fee }),
  });
  const deep = 10n ** 24n;

  test('use only pools of both tokens without bases, in either order', async () => {
    const pools = [pool(D, A, deep, deep), pool(A, B, deep, deep), pool(B, D, deep, 9n * deep)];
    expect(pathOf(await estimate(pools, 'sell', 1000n))).toEqual([A, D]);
    expect(await estimate(pools.slice(1), 'sell', 1000n)).toBeUndefined();
    expect(pathOf(await estimate(pools.slice(1), 'sell', 1000n, { bases: [B] }))).toEqual([A, B, D]);
  });

  test('use the better of several pools for each trade', async () => {
    const pools = [pool(A, D, deep, deep, 3000), pool(A, D, deep, deep, 500), pool(A, D, deep, deep, 10_000)];
    expect((await estimate(pools, 'sell', M))?.amount).toBe(amountOut(M, deep, deep, 500));
    expect((await estimate(pools, 'buy', M))?.amount).toBe(amountIn(M, deep, deep, 500));
  });

  test('match an exhaustive search', async () => {
    const reserves = fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.bigInt({ min: 1n, max: 10n ** 30n }));
    const PAIRS = [
      [A, B],
      [A, C],
      [A, D],
      [B, C],
      [B, D],
      [C, D],
    ] as const;
    const PATHS = [
      [A, D],
      [A, B, D],
      [A, C, D],
      [A, B, C, D],
      [A, C, B, D],
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.array(reserves, { minLength: 6, maxLength: 6 }),
        fc.bigInt({ min: 1n, max: 10n ** 28n }),
        async (all, amount) => {
          const pools = PAIRS.map(([a, b], i) => pool(a, b, ...(all[i] ?? [1n, 1n])));
          const side = (from: Hex, to: Hex): readonly [bigint, bigint] => {
            const i = PAIRS.findIndex(([a, b]) => (a === from && b === to) || (a === to && b === from));
            const [x, y] = all[i] ?? [1n, 1n];
            return PAIRS[i]?.[0] === from ? [x, y] : [y, x];
          };
          const outputs = PATHS.map((path) =>
            path.slice(1).reduce((sold, to, i) => amountOut(sold, ...side(path[i] ?? A, to)), amount),
          );
          const most = outputs.sort(ascending).at(-1) ?? 0n;
          const options = { bases: [B, C] };
          expect((await estimate(pools, 'sell', amount, options))?.amount).toBe(most === 0n ? undefined : most);

          const inputs = PATHS.map((path) => {
            let bought: bigint | undefined = amount;
            for (let i = path.length - 1; i > 0 && bought !== undefined; i--) {
              bought = amountIn(bought, ...side(path[i - 1] ?? A, path[i] ?? A));
            }
            return bought;
          }).filter((sold) => sold !== undefined);
          const least = inputs.sort(ascending)[0];
          const fits = least !== undefined && least < 2n ** 112n - 10n ** 30n;
          if (fits) expect((await estimate(pools, 'buy', amount, options))?.amount).toBe(least);
        },
      ),
    );
  });

  test('have a limited length, and each pool costs gas', async () => {
    const pools = [pool(A, B, deep, deep), pool(B, C, deep, deep), pool(C, D, deep, deep)];
    const bases = [B, C];
    expect(await estimate(pools, 'sell', M, { bases, maxHops: 2 })).toBeUndefined();
    const found = await estimate(pools, 'sell', M, { bases, gasBase: 1000, gasPerHop: 10 });
    expect(found?.gas).toBe(1030);
    expect(pathOf(found)).toEqual([A, B, C, D]);
  });

  test('include each longer route that is better than all shorter ones', async () => {
    const pools = [
      pool(A, D, deep, deep),
      pool(A, B, deep, deep),
      pool(B, D, deep, 2n * deep),
      pool(A, C, deep, deep),
      pool(C, B, deep, deep),
    ];
    const trade = { sellToken: A, buyToken: D, amount: 10n ** 20n };
    const source = constantProduct(pools, { bases: [B, C] });
    // For a sale, the route over B pays for its gas, and the route over C does not. A purchase is symmetrical.
    for (const kind of ['sell', 'buy'] as const) {
      const ways = await waysOf(source, { ...trade, kind });
      expect(ways.map(pathOf)).toEqual([
        [A, D],
        [A, B, D],
      ]);
    }
  });

  test('are selected by the book only if a longer one pays for its gas', async () => {
    const COW_WETH = [COW, WETH] as const;
    const pools = [
      { tokens: COW_WETH, reserves: [10n ** 24n, 10n ** 21n] },
      { tokens: [COW, B], reserves: [10n ** 30n, 10n ** 30n], fee: 0 },
      { tokens: [B, WETH], reserves: [1001n * 10n ** 27n, 10n ** 27n], fee: 0 },
    ] as const;
    const estimators = [constantProduct(pools, { bases: [B] }), { ...hanging('p'), nativePrice: () => '0.001' }];
    const gasAt = async (gasPrice: string) => {
      const { book, clock } = await quotesFixture({ gasPrice, estimators });
      const waiting = watch(quoted(book, { ...SELL, sellAmountBeforeFee: String(10n ** 20n) }));
      await settle();
      clock.advance(5_000);
      await settle();
      return waiting.value?.quote.gasAmount;
    };
    expect(await gasAt('1')).toBe('286391');
    expect(await gasAt('30000000000')).toBe('196391');
  });

  test('never exceed the capacity of a pair', async () => {
    const full = 2n ** 112n - 1000n;
    expect(await estimate([pool(A, D, full, full)], 'sell', 999n)).toBeDefined();
    expect(await estimate([pool(A, D, full, full)], 'sell', 1000n)).toBeUndefined();
  });

  test('use pools that are looked up anew for each trade', async () => {
    let reserve = deep;
    const source = constantProduct(async () => [pool(A, D, deep, reserve)]);
    const output = async () =>
      (await waysOf(source, { sellToken: A, buyToken: D, kind: 'sell', amount: M }))[0]?.amount;
    const before = (await output()) ?? 0n;
    reserve *= 2n;
    expect(await output()).toBeGreaterThan(before);
  });

  test.each([
    ['an invalid token', [{ tokens: ['x', D], reserves: [1n, 1n] }], {}],
    ['a repeated token', [{ tokens: [A, A], reserves: [1n, 1n] }], {}],
    ['a reserve that is a number', [{ tokens: [A, D], reserves: [1, 1n] }], {}],
    ['a reserve above the limit of a pair', [{ tokens: [A, D], reserves: [1n, 2n ** 112n] }], {}],
    ['a fee of 100 percent', [{ tokens: [A, D], reserves: [1n, 1n], fee: 1_000_000 }], {}],
    ['too many hops', [], { maxHops: 5 }],
    ['a fractional gas amount', [], { gasBase: 0.5 }],
    ['zero gas', [], { gasBase: 0, gasPerHop: 0 }],
  ])('factory rejects %s', (_, pools, options) => {
    expect(() => constantProduct(pools as never, options)).toThrow(TypeError);
  });
});
