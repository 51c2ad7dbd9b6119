import type { PriceHistorySource, PricePoint } from 'intentbook';
import type { AccountsOptions } from 'intentbook/accounts';
import { createAccountApi } from 'intentbook/accounts';
import { fixedUsdPrices } from 'intentbook/prices';
import { describe, expect, it } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import { createSourceObserver } from '../../../src/account-tools/observations.ts';
import { createSlippage } from '../../../src/market/slippage/slippage.ts';
import {
  computePairVolatility,
  computeTokenVolatility,
  toBasisPoints,
} from '../../../src/market/slippage/volatility.ts';
import { described } from '../../integration/http/described.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import { tradeOf } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';
import { accountFixture } from './accounts-fixture.ts';

const MINUTE = 60_000;
const USDC = '0x00000000000000000000000000000000000000dc';
const UNKNOWN = '0x00000000000000000000000000000000000000aa';
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

const START = 1_704_067_200_000;

/** Returns prices at equal distances. */
const points = (prices: readonly number[], spacing = 5 * MINUTE, start = START): PricePoint[] =>
  prices.map((price, i) => ({ at: start + i * spacing, price }));

/** Returns 12 points, which have the deviation of the prices that are repeated. */
const series = (prices: readonly number[], spacing?: number, start?: number): PricePoint[] =>
  points(
    Array.from({ length: 12 }, (_, i) => prices[i % prices.length] ?? 0),
    spacing,
    start,
  );
const market = (prices: readonly number[], spot: number, spacing?: number) => ({
  history: series(prices, spacing),
  spot,
});
const bps = (volatility: number | undefined) => (volatility === undefined ? undefined : toBasisPoints(volatility));

describe('volatility of a pair', () => {
  // The population standard deviation of [100, 110, 120, 130] is sqrt(125) = 11.18034.
  it.each([
    ['a constant price', market([1, 1, 1, 1], 1), market([1, 1, 1, 1], 10), 0],
    ['a price that rises by 10 % in each period', market([100, 110, 120, 130], 1), market([1, 1, 1, 1], 10), 1_118_034],
    ['a price that moves by 0.01 %', market([100, 100.01], 100), market([1, 1], 1), 1],
    ['equal movements', market([100, 101, 102, 103], 0.9), market([100, 101, 102, 103], 1), 0],
    ['spot prices that differ from the history', market([2, 3], 1), market([1, 1], 10), 50_000],
    ['prices with a distance of 10 minutes', market([2, 3], 1, 10 * MINUTE), market([1, 1], 10, 10 * MINUTE), 35_356],
  ])('is exact for %s', (_, base, quote, expected) => {
    expect(bps(computePairVolatility(base, quote))).toBe(expected);
  });

  it('rounds times to 5 minutes, with the last base price and every quote price of a period', () => {
    // Twelve points in each of two periods: base prices 4 and 8, and ratios 4, 2 and 8.
    const at = [0, 2 * MINUTE, 4 * MINUTE];
    const base = { history: [2, 4, 8].map((price, i) => ({ at: START + (at[i] ?? 0), price })), spot: 4 };
    const times = Array.from({ length: 12 }, (_, i) => START + (at[Math.floor(i / 4)] ?? 0));
    const quote = {
      history: times.map((each, i) => ({ at: each, price: [1, 2, 1][Math.floor(i / 4)] ?? 0 })),
      spot: 1,
    };
    const deviation = Math.sqrt(((4 - 14 / 3) ** 2 + (2 - 14 / 3) ** 2 + (8 - 14 / 3) ** 2) / 3);
    // The points have an average distance of 5 / 11 minutes.
    expect(computePairVolatility(base, quote)).toBeCloseTo((deviation * Math.sqrt(11)) / 4, 12);
  });

  it('ignores periods in which one of the tokens has no price', () => {
    const base = market([2, 3], 1);
    const quote = { history: points([5, ...Array(12).fill(1), 7], 5 * MINUTE, START - 5 * MINUTE), spot: 1 };
    expect(computePairVolatility(base, quote)).toBe(0.5); // of 2 and 3, which are one period apart
  });

  it('is unknown without a history, a spot price or 12 common points', () => {
    const known = market([1, 2, 3], 1);
    expect(computePairVolatility({ ...known, history: undefined }, known)).toBeUndefined();
    expect(computePairVolatility(known, { ...known, history: undefined })).toBeUndefined();
    expect(computePairVolatility(known, { ...known, spot: undefined })).toBeUndefined();
    expect(computePairVolatility({ ...known, spot: undefined }, known)).toBeUndefined();
    expect(computeTokenVolatility({ ...known, spot: undefined })).toBeUndefined();
    expect(computePairVolatility(known, { history: series([1, 2], 5 * MINUTE, 0), spot: 1 })).toBeUndefined();
    expect(computeTokenVolatility({ history: [], spot: 1 })).toBeUndefined();
    expect(computeTokenVolatility({ history: series([1, 2], 0), spot: 1 })).toBeUndefined();
    const few = { history: series([1, 2]).slice(1), spot: 1 };
    expect([computeTokenVolatility(few), computePairVolatility(known, few)]).toEqual([undefined, undefined]);
    expect(computeTokenVolatility({ history: series([7]), spot: 1 })).toBe(0);
  });
});

/** A source with fixed histories and its queries. */
function historySource(histories: Readonly<Record<string, readonly PricePoint[]>>) {
  const queries: string[] = [];
  const source: PriceHistorySource = {
    name: 'double',
    priceHistory({ token }) {
      queries.push(token);
      return histories[token.toLowerCase()];
    },
  };
  return { queries, source };
}

async function slippageFixture(options: Partial<AccountsOptions> = {}) {
  const decimals: Readonly<Record<string, number>> = { [USDC]: 6, [WETH.toLowerCase()]: 18, [COW.toLowerCase()]: 18 };
  const fixture = await accountFixture({
    tokens: (_, token) => (decimals[token] === undefined ? undefined : { decimals: decimals[token] }),
    ...options,
  });
  const http = described(directFixture(createAccountApi(fixture.accounts), () => fixture.clock.now() / 1000));
  const request = async (pair: string, query = '', chainId: number | string = SEPOLIA) => {
    const answer = await http.send('GET', `/${chainId}/markets/${pair}/slippageTolerance${query}`);
    return [answer.status, answer.json(), answer.header('cache-control')];
  };
  return { ...fixture, request };
}

const CACHED = 'public, max-age=120';

describe('slippage route', () => {
  const rising = historySource({ [COW.toLowerCase()]: series([2, 3]), [WETH.toLowerCase()]: series([100, 100]) });
  const prices = fixedUsdPrices({ [SEPOLIA]: { [COW]: 2.5, [WETH]: 100 } });
  const options = { usdPrices: { sources: [prices] }, slippage: { histories: [rising.source], defaultBps: 70 } };

  it('has no method besides those of its type', async () => {
    await using fixture = await slippageFixture(options);
    expect(Object.keys(fixture.accounts.slippage).sort()).toEqual(['get', 'volatility']);
  });

  it('returns the volatility of the pair, rounded up and limited to 50 %', async () => {
    await using fixture = await slippageFixture(options);
    expect(await fixture.request(`${COW}-${WETH}`)).toEqual([200, { slippageBps: 2000 }, CACHED]);
    await using expensive = await slippageFixture({
      ...options,
      usdPrices: { sources: [fixedUsdPrices({ [SEPOLIA]: { [COW]: 0.01, [WETH]: 100 } })] },
    });
    expect(await expensive.request(`${COW}-${WETH}`)).toEqual([200, { slippageBps: 5000 }, CACHED]);
  });

  it('uses the larger volatility for a pair with native currency', async () => {
    await using fixture = await slippageFixture(options);
    expect(await fixture.request(`${COW}-${NATIVE}`)).toEqual([200, { slippageBps: 2000 }, CACHED]);
    // Equal prices are not reliable.
    expect(await fixture.request(`${NATIVE}-${WETH}`)).toEqual([200, { slippageBps: 70 }, CACHED]);
  });

  it('returns the default of an unknown pair, cacheable as in production', async () => {
    await using fixture = await slippageFixture(options);
    expect(await fixture.request(`${COW}-${UNKNOWN}`)).toEqual([200, { slippageBps: 70 }, CACHED]);
    await using plain = await slippageFixture();
    expect(await plain.request(`${COW}-${WETH}`)).toEqual([200, { slippageBps: 50 }, CACHED]);
  });

  it('reports a failing source and queries the next one', async () => {
    const failing: PriceHistorySource = { name: 'broken', priceHistory: () => Promise.reject(new Error('offline')) };
    const invalid: PriceHistorySource = { name: 'invalid', priceHistory: () => [{ at: 1, price: Number.NaN }] };
    await using fixture = await slippageFixture({
      ...options,
      slippage: { histories: [failing, invalid, rising.source] },
    });
    expect(await fixture.request(`${COW}-${WETH}`)).toEqual([200, { slippageBps: 2000 }, CACHED]);
    expect(fixture.failures.map(String)).toEqual(
      expect.arrayContaining([
        `UsdPriceError: broken failed for ${COW.toLowerCase()} on chain ${SEPOLIA}`,
        `UsdPriceError: invalid failed for ${COW.toLowerCase()} on chain ${SEPOLIA}`,
      ]),
    );
  });

  it('queries the history of a token once in two minutes', async () => {
    const { source, queries } = historySource({ [COW.toLowerCase()]: series([2, 3]) });
    await using fixture = await slippageFixture({ ...options, slippage: { histories: [source] } });
    for (let i = 0; i < 3; i++) await fixture.request(`${COW}-${COW}`);
    expect(queries).toHaveLength(1);
    fixture.clock.advance(120_000);
    await fixture.request(`${COW}-${COW}`);
    expect(queries).toHaveLength(2);
  });

  it.each([
    ['an expiry below 5 minutes', '?expirationTimeInSeconds=75', 1000],
    ['a longer expiry', '?expirationTimeInSeconds=1800', 2000],
    ['a buy amount of 4 atoms', '?orderKind=sell&sellAmount=1000000&buyAmount=4', 2500],
    ['a sell amount of 3 atoms', '?orderKind=buy&sellAmount=3&buyAmount=1000000', 3334],
    ['large amounts', '?orderKind=sell&sellAmount=1000000&buyAmount=1000000', 2000],
    ['malformed parameters', '?orderKind=x&sellAmount=-1&buyAmount=1e9&expirationTimeInSeconds=x', 2000],
  ])('considers %s', async (_, query, slippageBps) => {
    await using fixture = await slippageFixture(options);
    expect(await fixture.request(`${COW}-${WETH}`, query)).toEqual([200, { slippageBps }, CACHED]);
  });

  it.each([
    [`${COW}`, 'market: must be two addresses with a hyphen between them'],
    [`${COW}-${WETH}-${WETH}`, 'market: must be two addresses with a hyphen between them'],
    [`0x12-${WETH}`, 'baseToken: must be 0x and 40 hex digits, got "0x12"'],
    [`${WETH}-x`, 'quoteToken: must be 0x and 40 hex digits, got "x"'],
  ])('rejects the market %s', async (pair, message) => {
    await using fixture = await slippageFixture(options);
    expect(await fixture.request(pair)).toEqual([400, { message }, 'no-store']);
  });

  it('returns the prices and the volatility of both tokens, null if it is unknown', async () => {
    await using fixture = await slippageFixture(options);
    const http = described(directFixture(createAccountApi(fixture.accounts), () => fixture.clock.now() / 1000));
    const read = (pair: string) => http.send('GET', `/${SEPOLIA}/markets/${pair}/volatilityDetails`);
    const answer = await read(`${COW}-${UNKNOWN}`);
    expect([answer.status, answer.header('cache-control')]).toEqual([200, CACHED]);
    const prices = series([2, 3]).map(({ at, price }) => ({ date: new Date(at).toISOString(), price }));
    expect(answer.json()).toEqual({
      baseToken: {
        tokenAddress: COW.toLowerCase(),
        prices,
        usdPrice: 2.5,
        volatilityInUsd: 0.5,
        volatilityInTokens: 0.2,
      },
      quoteToken: null,
    });
    expect((await read(`${NATIVE}-${COW}`)).json()).toMatchObject({ baseToken: { tokenAddress: WETH.toLowerCase() } });
    const malformed = await read(`${COW}-x`);
    expect([malformed.status, malformed.json()]).toEqual([
      400,
      { message: 'token: must be 0x and 40 hex digits, got "x"' },
    ]);
  });

  it('rejects a chain without a book', async () => {
    await using fixture = await slippageFixture(options);
    expect(await fixture.request(`${COW}-${WETH}`, '', 1)).toEqual([400, { message: 'Unsupported chain' }, 'no-store']);
  });

  it.each([
    [{ histories: [{}] }, 'slippage.histories must be a list of sources'],
    [{ defaultBps: -1 }, 'slippage.defaultBps must be an integer from 0 to 10000, got -1'],
    [{ dollarTokens: { 1: { token: 'x', decimals: 6 } } }, 'slippage.dollarTokens must be addresses with decimals'],
    [{ historie: [] }, 'unknown option "historie"'],
  ])('requires valid options: %j', async (slippage, message) => {
    await expect(slippageFixture({ slippage: slippage as never })).rejects.toThrow(message);
  });
});

describe('slippage module', () => {
  const [BASE, QUOTE] = [`0x${'0a'.repeat(20)}`, `0x${'0b'.repeat(20)}`] as const;
  const WRAPPED = WETH.toLowerCase();

  function create(
    histories: readonly PriceHistorySource[],
    spots: Readonly<Record<string, number>> = {},
    options: object = {},
    chainId: number = SEPOLIA,
  ) {
    const observed: string[] = [];
    const failures: unknown[] = [];
    const prices: string[] = [];
    const clock = manualClock();
    const observer = createSourceObserver(clock, () => {});
    observer.observe(({ subject, source, outcome }) => observed.push(`${subject} ${source} ${outcome}`));
    const slippage = createSlippage({
      options: { histories, ...options },
      // The members that are used.
      books: [{ env: 'prod', book: { chainId } }] as unknown as readonly KnownBook[],
      usdPrices: {
        get: async (_, token) => {
          prices.push(token);
          const price = spots[token];
          return price === undefined ? undefined : { price, freshFor: 1 };
        },
      },
      ownHistory: { name: 'own', priceHistory: () => undefined },
      clock,
      onFailure: (failure) => void failures.push(failure),
      observer,
      assertStarted: () => {},
    });
    return { ...slippage, observed, failures, prices };
  }
  const source = (histories: Readonly<Record<string, readonly PricePoint[]>>, name = 'a'): PriceHistorySource => ({
    name,
    priceHistory: ({ token }) => histories[token],
  });
  const moving = { [BASE]: series([2, 3]), [QUOTE]: series([4, 6]) };

  it('uses the newest price of the history without a price source', async () => {
    // The deviation is 0.5 with a price of 3; the prices of the other token do not move.
    const { get } = create([source({ ...moving, [QUOTE]: series([1, 1]) })]);
    expect(await get(SEPOLIA, BASE, QUOTE)).toEqual({ slippageBps: 1667, known: true });
  });

  it('uses the volatility of the pair, not of its tokens', async () => {
    const { get } = create([source({ ...moving, [QUOTE]: series([4, 6.03]) })]);
    // The deviation of the ratios 0.5 and 0.4975 at a ratio of 0.4975 is 25.1 basis points.
    expect(await get(SEPOLIA, BASE, QUOTE)).toEqual({ slippageBps: 26, known: true });
  });

  it.each([
    [NATIVE, BASE],
    [BASE, NATIVE],
  ])('uses the larger volatility of the tokens of %s and %s', async (base, quote) => {
    const { get, prices } = create([source({ ...moving, [WRAPPED]: series([4, 6]) })], { [WRAPPED]: 2, [BASE]: 3 });
    expect(await get(SEPOLIA, base, quote)).toEqual({ slippageBps: 5000, known: true });
    expect(prices.toSorted()).toEqual([BASE, WRAPPED]);
  });

  it('is unknown if one of the tokens has no history', async () => {
    const { get } = create([source({ [BASE]: series([2, 3]) })]);
    expect(await get(SEPOLIA, BASE, NATIVE)).toEqual({ slippageBps: 50, known: false });
    expect(await get(SEPOLIA, NATIVE, BASE)).toEqual({ slippageBps: 50, known: false });
  });

  it('reads native currency as itself on a chain without a known wrapped token', async () => {
    const { get, prices } = create([source(moving)], {}, {}, 424_242);
    await get(424_242, NATIVE, BASE);
    expect(prices).toEqual([NATIVE, BASE]);
  });

  it('returns a history, or undefined', async () => {
    const { readHistory, observed } = create([source(moving)]);
    expect(await readHistory({ chainId: SEPOLIA, token: BASE })).toEqual(series([2, 3]));
    expect(await readHistory({ chainId: SEPOLIA, token: UNKNOWN })).toBeUndefined();
    expect(observed).toEqual(['priceHistory a responded', 'priceHistory a empty', 'priceHistory own empty']);
  });

  it('returns the history of the wrapped token for native currency', async () => {
    const { readHistory } = create([source({ [WRAPPED]: series([2, 3]) })]);
    expect(await readHistory({ chainId: SEPOLIA, token: NATIVE })).toEqual(series([2, 3]));
  });

  it('queries the next source after an empty history, which is no failure', async () => {
    const { readHistory, failures } = create([source({ [BASE]: [] }), source({}), source(moving, 'b')]);
    expect(await readHistory({ chainId: SEPOLIA, token: BASE })).toEqual(series([2, 3]));
    expect(failures).toEqual([]);
  });

  it.each([
    [[{ at: Number.NaN, price: 1 }]],
    [[{ at: 1, price: Number.POSITIVE_INFINITY }]],
    [[{ at: 1, price: 0 }]],
    [[{ at: 1, price: -1 }]],
    [[null, { at: 2, price: Number.NaN }]],
    [{ length: 1 }],
  ])('rejects the history %j', async (history) => {
    const broken = source({ [BASE]: history as readonly PricePoint[] }); // an untyped source
    const { readHistory, failures } = create([broken]);
    expect(await readHistory({ chainId: SEPOLIA, token: BASE })).toBeUndefined();
    const cause = new TypeError('the history must be a list of times and positive prices');
    expect(failures).toMatchObject([{ message: `a failed for ${BASE} on chain ${SEPOLIA}`, cause }]);
  });

  it.each([
    ['no time', { validFor: 0 }, 5000],
    ['a negative time', { validFor: -1 }, 5000],
    ['5 minutes', { validFor: 300 }, 5000],
    ['an amount without a kind', { sellAmount: 1n, buyAmount: 1n }, 5000],
    ['a kind without amounts', { kind: 'sell' }, 5000],
    ['a bought amount of 0', { kind: 'sell', buyAmount: 0n }, 5000],
    ['a bought amount of one atom', { kind: 'sell', sellAmount: 9n, buyAmount: 1n }, 10_000],
    ['the other amount', { kind: 'sell', sellAmount: 1n }, 5000],
  ] as const)('considers %s', async (_, order, slippageBps) => {
    const { get } = create([source({ [BASE]: series([2, 3]), [QUOTE]: series([1, 1]) })], { [BASE]: 1, [QUOTE]: 1 });
    expect((await get(SEPOLIA, BASE, QUOTE, order)).slippageBps).toBe(slippageBps);
  });

  it.each([0, 10_000])('accepts the default %i', async (defaultBps) => {
    expect(await create([], {}, { defaultBps }).get(SEPOLIA, BASE, QUOTE)).toEqual({
      slippageBps: defaultBps,
      known: false,
    });
  });

  it.each([
    [{ defaultBps: 10_001 }, 'createAccounts: slippage.defaultBps must be an integer from 0 to 10000, got 10001'],
    [{ defaultBps: 0.5 }, 'createAccounts: slippage.defaultBps must be an integer from 0 to 10000, got 0.5'],
    [{ histories: [undefined] }, 'createAccounts: slippage.histories must be a list of sources'],
    [{ defaultBp: 1 }, 'createAccounts, slippage: unknown option "defaultBp", did you mean "defaultBps"?'],
  ])('rejects the options %j', (options, message) => {
    expect(() => create([], {}, options)).toThrow(new TypeError(message));
  });

  it('accepts dollar tokens, which the own history uses', () => {
    expect(() => create([], {}, { dollarTokens: {} })).not.toThrow();
  });
});

describe('own history', () => {
  const DAY = 288;
  const dollarTokens = { [SEPOLIA]: { token: USDC, decimals: 6 } };

  /** Prices of a synthetic day: US dollars per WETH in USDC atoms, and wei per 1000 COW. */
  const ethPrices = Array.from({ length: DAY }, (_, i) => 2_500_000_000n + BigInt(Math.round(9e7 * Math.sin(i / 17))));
  const cowPrices = Array.from({ length: DAY }, (_, i) => 10n ** 17n + BigInt(Math.round(6e15 * Math.cos(i / 5))));

  async function tradeDay(fixture: Awaited<ReturnType<typeof slippageFixture>>) {
    const { clock } = fixture;
    const start = Math.ceil(clock.now() / (5 * MINUTE)) * 5 * MINUTE;
    const large = { sellAmount: String(10n ** 30n), buyAmount: '1', partiallyFillable: true };
    const validTo = Math.floor(clock.now() / 1000) + 90_000;
    const eth = await fixture.order({ ...large, sellToken: WETH, buyToken: USDC, validTo });
    const cow = await fixture.order({ ...large, sellToken: COW, buyToken: WETH, validTo });
    for (let i = 0; i < DAY; i++) {
      const timestamp = (start + i * 5 * MINUTE) / 1000;
      clock.set(timestamp * 1000);
      await fixture.applyBlock(i + 1, [
        { ...tradeOf(eth, 10n ** 18n, ethPrices[i] ?? 0n), timestamp },
        { ...tradeOf(cow, 10n ** 21n, cowPrices[i] ?? 0n), timestamp },
      ]);
    }
    return { start, eth, cow };
  }

  it('of a day of trades has the same slippage as the history of CoinGecko', async () => {
    await using own = await slippageFixture({ slippage: { dollarTokens } });
    const { start } = await tradeDay(own);
    const point = (i: number, price: number) => ({ at: start + i * 5 * MINUTE, price });
    const eth = ethPrices.map((atoms, i) => point(i, Number(atoms) / 1e6));
    const cow = cowPrices.map((wei, i) => point(i, ((Number(wei) / 1e21) * Number(ethPrices[i])) / 1e6));
    const usdc = ethPrices.map((_, i) => point(i, 1));
    const { source } = historySource({ [WETH.toLowerCase()]: eth, [COW.toLowerCase()]: cow, [USDC]: usdc });
    await using fake = await slippageFixture({ slippage: { histories: [source] } });
    const results = new Set<number>();
    for (const pair of [`${COW}-${WETH}`, `${WETH}-${COW}`, `${WETH}-${USDC}`, `${COW}-${USDC}`, `${NATIVE}-${COW}`]) {
      const [status, body, cache] = await own.request(pair);
      expect([pair, status, body, cache]).toEqual([pair, ...(await fake.request(pair))]);
      results.add((body as { slippageBps: number }).slippageBps);
    }
    expect(results.size).toBeGreaterThan(3); // the pairs differ, none has the default
    expect(results.has(50)).toBe(false);
    expect(own.failures).toEqual([]);
  });

  it('does not include trades of a reverted block or older ones than a day', async () => {
    await using fixture = await slippageFixture({ slippage: { dollarTokens } });
    const { eth } = await tradeDay(fixture);
    const before = await fixture.request(`${WETH}-${USDC}`);
    const followed = () => new Promise((resolve) => setTimeout(resolve, 0));
    const timestamp = fixture.clock.now() / 1000;
    await fixture.applyBlock(DAY + 1, [{ ...tradeOf(eth, 10n ** 18n, 10n ** 18n), timestamp }]);
    await followed();
    fixture.clock.advance(120_000);
    expect(await fixture.request(`${WETH}-${USDC}`)).not.toEqual(before);
    await fixture.book.chain.rollback(DAY);
    await fixture.applyBlock(DAY + 1, [], 'b');
    fixture.clock.advance(120_000);
    await followed();
    expect(await fixture.request(`${WETH}-${USDC}`)).toEqual(before);
    fixture.clock.advance(26 * 3_600_000);
    expect(await fixture.request(`${WETH}-${USDC}`)).toEqual([200, { slippageBps: 50 }, CACHED]);
  });

  it('consists of the prices of requested tokens, read every 5 minutes', async () => {
    let price = 100;
    const usdPrice = ({ token }: { token: string }) => (token === WETH.toLowerCase() ? price : 1);
    await using fixture = await slippageFixture({ usdPrices: { sources: [{ name: 'quotes', usdPrice }] } });
    expect(await fixture.request(`${WETH}-${USDC}`)).toEqual([200, { slippageBps: 50 }, CACHED]);
    for (let i = 0; i < 20; i++) {
      price = 100 + (i % 2);
      fixture.clock.advance(5 * MINUTE);
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      if (i === 9) await fixture.request(`${WETH}-${USDC}`); // otherwise the sampling ends after an hour
    }
    const [status, body, cache] = await fixture.request(`${WETH}-${USDC}`);
    expect([status, cache]).toEqual([200, CACHED]);
    // Half of the prices are 100 and half 101: the deviation is about 0.5.
    expect((body as { slippageBps: number }).slippageBps).toBeGreaterThan(45);
    expect((body as { slippageBps: number }).slippageBps).toBeLessThan(52);
  });
});
