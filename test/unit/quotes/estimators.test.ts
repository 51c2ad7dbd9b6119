import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Address, Estimator, QuoteRequest, Trade } from 'intentbook';
import { createApi } from 'intentbook';
import { constantProduct, httpSolver } from 'intentbook/estimators';
import { nodeHandler } from 'intentbook/node-http';
import { describe, expect, test } from 'vitest';
import { COW, WETH } from '../../support/orders.ts';
import {
  answering,
  ETHER,
  hanging,
  prompted,
  quoted,
  quotesFixture,
  rejected,
  SELL,
  settle,
  source,
  watch,
} from './quotes-fixture.ts';

const GOOD = (3n * ETHER) / 10n;

/** Failures of an estimator that are detected immediately, with their outcomes. */
const BAD: readonly (readonly [string, string, Estimator['estimate']])[] = [
  ['returns more than 256 bits', 'invalid', () => ({ amount: 10n ** 80n, gas: 1 })],
  ['returns zero', 'invalid', () => ({ amount: 0n, gas: 1 })],
  ['returns a negative amount', 'invalid', () => ({ amount: -5n, gas: 1 })],
  ['returns NaN', 'invalid', () => ({ amount: Number.NaN as never, gas: 1 })],
  ['returns a double', 'invalid', () => ({ amount: 1e60 as never, gas: 1 })],
  ['returns text', 'invalid', () => 'a lot' as never],
  ['returns an empty object', 'invalid', () => ({}) as never],
  ['returns no gas', 'invalid', () => ({ amount: 10n ** 70n }) as never],
  ['returns zero gas', 'invalid', () => ({ amount: 10n ** 70n, gas: 0 })],
  ['returns NaN gas', 'invalid', () => ({ amount: 10n ** 70n, gas: Number.NaN })],
  ['returns a fractional gas amount', 'invalid', () => ({ amount: 10n ** 70n, gas: 0.5 })],
  ['returns an invalid solver address', 'invalid', () => ({ amount: 10n ** 70n, gas: 1, solver: '0x1' })],
  [
    'returns an invalid route',
    'invalid',
    () => [
      { amount: GOOD, gas: 1 },
      { amount: 0n, gas: 1 },
    ],
  ],
  ['returns a list of undefined', 'invalid', () => [null as never]],
  ['returns 17 routes', 'invalid', () => Array.from({ length: 17 }, () => ({ amount: GOOD, gas: 1 }))],
  ['reports another token as unsupported', 'invalid', () => ({ unsupportedToken: SELL.from as Address })],
  ['returns undefined', 'none', () => undefined],
  ['returns no routes', 'none', () => []],
  ['returns null', 'none', () => null as never],
  [
    'throws',
    'failed',
    () => {
      throw new Error('boom');
    },
  ],
  ['rejects', 'failed', async () => Promise.reject(new Error('boom'))],
  [
    'has a getter that throws',
    'failed',
    () => ({
      get amount(): bigint {
        throw new Error('boom');
      },
      gas: 1,
    }),
  ],
];

describe('unusable estimator among several', () => {
  test.each(BAD)('that %s is %s, and the good one is quoted without waiting', async (_, outcome, estimate) => {
    const { book, clock, outcomes } = await quotesFixture({
      estimators: [source('bad', estimate), answering('good', GOOD)],
    });
    const { quote } = await quoted(book, SELL);
    expect(BigInt(quote.sellAmount) + BigInt(quote.feeAmount)).toBe(1000n * ETHER);
    expect(outcomes()).toEqual({ bad: outcome, good: 'responded' });
    expect(book.quotes.counters()['bad']).toMatchObject({ [outcome]: 1 });
    // Only the sweep is left.
    expect(clock.pending).toBe(await idleTasks());
  });

  test.each(BAD)('alone that %s causes NoLiquidity at once', async (_, outcome, estimate) => {
    const { book, outcomes } = await quotesFixture({ estimators: [source('bad', estimate)] });
    const isTemporary = outcome === 'failed';
    const { code, status, data } = await rejected(book, SELL);
    expect([code, status, data?.['temporary']]).toEqual(['NoLiquidity', 400, isTemporary ? true : undefined]);
    expect(outcomes()).toEqual({ bad: outcome });
  });

  test.each<[string, NonNullable<Estimator['nativePrice']>, object]>([
    ['undefined', () => undefined, {}],
    ['an invalid price', () => 'much', {}],
    ['an error', () => Promise.reject(new Error('offline')), { temporary: true }],
  ])('alone that returns %s as native price causes NoLiquidity', async (_, nativePrice, data) => {
    const { book } = await quotesFixture({ estimators: [{ name: 'bad', estimate: () => undefined, nativePrice }] });
    const result = await book.quotes.nativePrice(SELL.sellToken);
    const error = { code: 'NoLiquidity', data: { token: COW.toLowerCase(), ...data } };
    expect(result).toMatchObject({ status: 'rejected', error });
  });

  test('that hangs delays the quote until the deadline only', async () => {
    const { book, clock, outcomes } = await quotesFixture({ estimators: [hanging('slow'), answering('good', GOOD)] });
    const waiting = watch(quoted(book, SELL));
    await settle();
    clock.advance(4_999);
    await settle();
    expect(waiting.done).toBe(false);
    clock.advance(1);
    await settle();
    expect(waiting.value?.quote.sellToken).toBe(COW.toLowerCase());
    expect(outcomes()).toEqual({ good: 'responded', slow: 'late' });
  });

  test('that responds after the deadline is late, is aborted and ignored', async () => {
    const slow = prompted('slow');
    const { book, clock, observations, outcomes } = await quotesFixture({
      estimators: [slow, answering('good', GOOD)],
    });
    const waiting = watch(quoted(book, SELL));
    await settle();
    clock.advance(5_000);
    expect(slow.recordedCalls[0]?.context.signal.aborted).toBe(true);
    slow.recordedCalls[0]?.answer({ amount: GOOD * 2n, gas: 1 });
    await settle();
    expect(BigInt(waiting.value?.quote.buyAmount ?? 0)).toBeLessThan(GOOD);
    expect(outcomes()).toEqual({ good: 'responded', slow: 'late' });
    expect(observations.filter(({ source: name }) => name === 'slow')).toHaveLength(2); // the trade and the price
  });

  test('that rejects after the deadline has no effect', async () => {
    const { book, clock, failures } = await quotesFixture({
      estimators: [
        source(
          'slow',
          (_, { signal }) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(new Error('stopped')));
            }),
        ),
      ],
    });
    const waiting = watch(rejected(book, SELL));
    await settle();
    clock.advance(5_000);
    await settle();
    expect(waiting.value?.code).toBe('NoLiquidity');
    expect(failures).toEqual([]);
  });

  test('with all hanging causes NoLiquidity exactly at the deadline', async () => {
    const { book, clock } = await quotesFixture({ estimators: [hanging('one'), hanging('two')] });
    const waiting = watch(rejected(book, SELL));
    await settle();
    clock.advance(4_999);
    await settle();
    expect(waiting.done).toBe(false);
    clock.advance(1);
    await settle();
    expect(waiting.value).toMatchObject({ code: 'NoLiquidity', data: { temporary: true } });
  });

  test.each([
    [100, 100],
    [undefined, 5_000],
    [9_000, 9_000],
    [4_000_000_000, 10_000],
    [0, 0],
  ])('with a request of %s ms has its deadline after %s ms', async (timeout, deadline) => {
    const { book, clock } = await quotesFixture({ estimators: [hanging('one')] });
    const waiting = watch(rejected(book, { ...SELL, timeout }));
    await settle();
    if (deadline > 0) clock.advance(deadline - 1);
    await settle();
    expect(waiting.done).toBe(false);
    clock.advance(deadline > 0 ? 1 : 0);
    await settle();
    expect(waiting.value?.code).toBe('NoLiquidity');
  });

  test('with an observation listener that throws does not affect a quote', async () => {
    const { book, failures } = await quotesFixture({ estimators: [answering('good', GOOD)] });
    book.on('estimatorQueried', () => {
      throw new Error('a listener of the host');
    });
    await quoted(book, SELL);
    expect(failures.length).toBeGreaterThan(0);
  });

  test('that reports an unsupported token is used unless another one trades it', async () => {
    const rejecting = source('knowing', () => ({ unsupportedToken: COW, reason: 'takes a fee on transfer' }) as const);
    const alone = await quotesFixture({ estimators: [rejecting, hanging('slow')] });
    const waiting = watch(rejected(alone.book, SELL));
    await settle();
    alone.clock.advance(5_000);
    await settle();
    expect(waiting.value).toMatchObject({ code: 'UnsupportedToken', data: { token: COW.toLowerCase() } });
    const both = await quotesFixture({ estimators: [rejecting, answering('good', GOOD)] });
    await quoted(both.book, SELL);
  });
});

describe('estimate', () => {
  test('may have null for absent members', async () => {
    const nulls = { amount: GOOD, gas: 100_000, solver: null, verified: null, metadata: null, unsupportedToken: null };
    const { book, outcomes } = await quotesFixture({ estimators: [source('nulls', () => nulls as never)] });
    expect((await quoted(book, SELL)).verified).toBe(false);
    expect(outcomes()).toEqual({ nulls: 'responded' });
  });

  test('cannot change the request of other estimators', async () => {
    const meddling = source('meddling', (trade) => {
      Object.assign(trade, { amount: 1n });
      return undefined;
    });
    const later = prompted('later');
    const { book, outcomes } = await quotesFixture({ estimators: [meddling, later] });
    const waiting = watch(quoted(book, SELL));
    await settle();
    expect(later.recordedCalls[0]?.trade.amount).toBe(1000n * ETHER);
    later.recordedCalls[0]?.answer({ amount: GOOD, gas: 100_000 });
    await settle();
    expect([waiting.done, outcomes()]).toEqual([true, { meddling: 'failed', later: 'responded' }]);
  });

  test('must leave room for the fee in 256 bits', async () => {
    const MAX = 2n ** 256n - 1n;
    const buy = { ...SELL, kind: 'buy', buyAmountAfterFee: '1' } as const;
    const first = await quotesFixture({ estimators: [answering('much', MAX / 2n, 100_000)] });
    const fee = BigInt((await quoted(first.book, buy)).quote.feeAmount);
    for (const [amount, fits] of [
      [MAX - fee, true],
      [MAX - fee + 1n, false],
    ] as const) {
      const { book } = await quotesFixture({ estimators: [answering('much', amount, 100_000)] });
      expect((await book.quotes.request(buy)).status).toBe(fits ? 'quoted' : 'rejected');
    }
    const sale = { ...SELL, sellAmountBeforeFee: undefined, sellAmountAfterFee: String(MAX) };
    const { book } = await quotesFixture({ estimators: [answering('good', GOOD)] });
    expect((await rejected(book, sale)).code).toBe('NoLiquidity');
  });

  test.each<readonly [string, QuoteRequest]>([
    ['the full sell amount', { ...SELL, sellAmountBeforeFee: '100' }],
    // A million units of gas at 10 gwei, rounded up; with one atom more nothing is bought.
    ['so much that nothing is bought for the rest', { ...SELL, sellAmountBeforeFee: '33333333333333333335' }],
  ])('below the fee is rejected with the fee: it takes %s', async (_, request) => {
    const { book } = await quotesFixture({ estimators: [answering('small', 10n, 1_000_000)] });
    expect(await rejected(book, request)).toMatchObject({
      code: 'SellAmountDoesNotCoverFee',
      data: { fee_amount: '33333333333333333334' },
    });
  });
});

describe('best estimate', () => {
  test('has the largest output after gas, in any order of estimators', async () => {
    // A hundred times the gas costs 1 % of the sale here, more than the difference in output.
    const cheap = answering('cheap', GOOD, 3_000_000);
    const dear = answering('dear', GOOD + GOOD / 200n, 30_000_000);
    for (const estimators of [
      [cheap, dear],
      [dear, cheap],
    ]) {
      const { book } = await quotesFixture({ estimators });
      expect((await quoted(book, SELL)).quote.gasAmount).toBe('3000000');
    }
  });

  test('is selected among the routes of one estimator too', async () => {
    const ways = [
      { amount: GOOD, gas: 3_000_000 },
      { amount: GOOD + GOOD / 200n, gas: 30_000_000 },
    ];
    for (const answer of [ways, ways.toReversed()]) {
      const { book } = await quotesFixture({ estimators: [source('knowing', () => answer)] });
      expect((await quoted(book, SELL)).quote.gasAmount).toBe('3000000');
      const cheapGas = await quotesFixture({ gasPrice: 1, estimators: [source('knowing', () => answer)] });
      expect((await quoted(cheapGas.book, SELL)).quote.gasAmount).toBe('30000000');
    }
  });

  test('of a purchase has the smallest input with its fee', async () => {
    const request = { ...SELL, kind: 'buy', sellAmountBeforeFee: undefined, buyAmountAfterFee: String(GOOD) } as const;
    const { book } = await quotesFixture({
      estimators: [
        answering('dear', 1001n * ETHER),
        answering('best', 1000n * ETHER),
        answering('thirsty', 999n * ETHER, 10_000_000_000),
      ],
    });
    const { quote } = await quoted(book, request);
    expect([quote.sellAmount, quote.buyAmount]).toEqual([String(1000n * ETHER), String(GOOD)]);
  });

  test('is the verified one among equal ones', async () => {
    const verified = source('verified', () => ({ amount: GOOD, gas: 100_000, verified: true }));
    const { book } = await quotesFixture({ estimators: [answering('plain', GOOD), verified] });
    expect((await quoted(book, SELL)).verified).toBe(true);
  });

  test('of a fast quote is the first one, and the others are aborted', async () => {
    const slow = prompted('slow');
    const { book, outcomes } = await quotesFixture({ estimators: [slow, answering('good', GOOD)] });
    const response = await quoted(book, { ...SELL, priceQuality: 'fast' });
    expect(response).toMatchObject({ id: null, expiration: '1970-01-01T00:00:00.000Z' });
    expect(slow.recordedCalls[0]?.context.signal.aborted).toBe(true);
    expect(outcomes()).toEqual({ good: 'responded', slow: 'abandoned' });
  });
});

describe('estimate race', () => {
  test('calls each estimator once for 500 concurrent identical requests', async () => {
    const one = prompted('one');
    const two = prompted('two');
    const { book, observations } = await quotesFixture({ estimators: [one, two] });
    const waiting = Array.from({ length: 500 }, () => quoted(book, SELL));
    await settle();
    expect([one.recordedCalls.length, two.recordedCalls.length]).toEqual([1, 1]);
    one.recordedCalls[0]?.answer({ amount: GOOD, gas: 100_000 });
    two.recordedCalls[0]?.answer({ amount: GOOD + 1n, gas: 100_000 });
    const responses = await Promise.all(waiting);
    expect(new Set(responses.map((response) => JSON.stringify(response))).size).toBe(1);
    expect(observations.filter(({ request }) => request === 'trade')).toHaveLength(2);
    expect(observations.filter(({ request }) => request === 'price')).toHaveLength(2);
  });

  test('is shared between requests with different owner, app data and receiver', async () => {
    const one = prompted('one');
    const { book } = await quotesFixture({ estimators: [one] });
    const others = [
      { ...SELL, from: '0x0000000000000000000000000000000000000b0b' },
      { ...SELL, receiver: SELL.from, appData: '{"version":"1.0.0"}' },
      { ...SELL, sellAmountBeforeFee: undefined, sellAmountAfterFee: SELL.sellAmountBeforeFee },
    ];
    const waiting = [SELL, ...others].map((request) => quoted(book, request));
    await settle();
    expect(one.recordedCalls).toHaveLength(1);
    one.recordedCalls[0]?.answer({ amount: GOOD, gas: 100_000 });
    const ids = (await Promise.all(waiting)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(1);
  });

  test('is not shared for another amount or half a second later', async () => {
    const one = prompted('one');
    const { book, clock } = await quotesFixture({ estimators: [one] });
    const answerAll = () => {
      for (const { answer } of one.recordedCalls) answer({ amount: GOOD, gas: 100_000 });
    };
    const first = quoted(book, SELL);
    const other = quoted(book, { ...SELL, sellAmountBeforeFee: '999000000000000000000' });
    await settle();
    expect(one.recordedCalls.map(({ trade }) => trade.amount)).toEqual([1000n * ETHER, 999n * ETHER]);
    answerAll();
    const [{ id }] = await Promise.all([first, other]);
    clock.advance(499);
    expect((await quoted(book, SELL)).id).toBe(id);
    clock.advance(1);
    const again = quoted(book, SELL);
    await settle();
    expect(one.recordedCalls).toHaveLength(3);
    answerAll();
    expect((await again).id).not.toBe(id);
  });

  test('calls an HTTP solver once for 500 identical HTTP requests, each answered at once', async () => {
    let calls = 0;
    await using engine = await listening((_, response) => {
      calls++;
      response.end('{"amount":"300000000000000000","gas":100000}');
    });
    let gasPrices = 0;
    const fixture = await quotesFixture({
      estimators: [{ ...httpSolver(engine.url), nativePrice: () => '0.0003' }],
      gasPrice: async () => ++gasPrices && '10000000000',
    });
    await using server = await listening(nodeHandler(createApi(fixture.book)));
    const ids = new Set<unknown>();
    const requestPrice = async () => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${server.url}/api/v1/quote`, {
        method: 'POST',
        headers,
        body: JSON.stringify(SELL),
      });
      ids.add(((await response.json()) as { id: unknown }).id);
    };
    await Promise.all(Array.from({ length: 500 }, requestPrice));
    expect({ calls, gasPrices, ids: [...ids] }).toEqual({ calls: 1, gasPrices: 1, ids: [1] });
  });

  test('caches no result while another estimator is pending, and none if the host disables it', async () => {
    const slow = prompted('slow');
    const { book, clock } = await quotesFixture({ estimators: [slow, answering('good', GOOD)] });
    const hurried = { ...SELL, timeout: 100 };
    const first = watch(book.quotes.request(hurried));
    await settle();
    clock.advance(100);
    await settle();
    expect(first.value?.status).toBe('quoted');
    const second = book.quotes.request(hurried);
    await settle();
    expect(slow.recordedCalls).toHaveLength(2);
    slow.recordedCalls[1]?.answer(undefined);
    await second;
    const one = prompted('one');
    const unkept = await quotesFixture({ quoteCacheTtl: 0, estimators: [one] });
    for (let i = 0; i < 2; i++) {
      const waiting = quoted(unkept.book, SELL);
      await settle();
      one.recordedCalls[i]?.answer({ amount: GOOD, gas: 100_000 });
      await waiting;
    }
    expect(one.recordedCalls).toHaveLength(2);
  });

  test('shares a stored quote for half of its lifetime and retries one that was not stored', async () => {
    const fixture = await quotesFixture({ expiry: 10, quoteCacheTtl: 60_000, estimators: [answering('good', GOOD)] });
    const { book, clock, store } = fixture;
    const { insert } = store.quotes;
    Object.assign(store.quotes, { insert: async () => Promise.reject(new Error('the disk is full')) });
    await expect(book.quotes.request(SELL)).rejects.toThrow('the disk is full');
    Object.assign(store.quotes, { insert });
    const first = await quoted(book, SELL);
    clock.advance(4_999);
    expect(await quoted(book, SELL)).toMatchObject({ id: first.id, expiration: first.expiration });
    clock.advance(1);
    const next = await quoted(book, SELL);
    expect(next.id).not.toBe(first.id);
    expect(Date.parse(next.expiration)).toBe(clock.now() + 10_000);
    expect(fixture.observations.filter(({ request }) => request === 'trade')).toHaveLength(1);
  });

  test('continues when one subscriber leaves and aborts when the last one leaves', async () => {
    const one = prompted('one');
    const { book, observations } = await quotesFixture({ estimators: [one] });
    const [first, second] = [new AbortController(), new AbortController()];
    const calls = [first, second].map(({ signal }) => watch(book.quotes.request(SELL, { signal })));
    await settle();
    first.abort(new Error('gone'));
    await settle();
    expect(calls.map(({ done }) => done)).toEqual([true, false]);
    expect(calls[0]?.error).toMatchObject({ message: 'gone' });
    expect(one.recordedCalls[0]?.context.signal.aborted).toBe(false);
    second.abort();
    await settle();
    expect(one.recordedCalls[0]?.context.signal.aborted).toBe(true);
    expect(observations.at(-1)).toMatchObject({ source: 'one', outcome: 'abandoned' });
  });

  test('ends when the book closes, and rejects waiting callers with a retryable code', async () => {
    const one = { ...prompted('one'), nativePrice: () => new Promise<never>(() => {}) };
    const { book } = await quotesFixture({ estimators: [one] });
    const [priced, unpriced] = [{ ...SELL, sellToken: WETH, buyToken: COW }, SELL];
    const waiting = [
      watch(book.quotes.request(priced)),
      watch(book.quotes.request(unpriced)),
      watch(book.quotes.nativePrice(COW)),
    ];
    await settle();
    await book.close();
    await settle();
    for (const { value } of waiting) {
      expect(value).toMatchObject({ status: 'rejected', error: { code: 'InternalServerError', retryable: true } });
    }
    expect(one.recordedCalls[0]?.context.signal.aborted).toBe(true);
    await expect(book.quotes.request(SELL)).rejects.toThrow(/book is closed/);
  });
});

describe('gas price', () => {
  test('is read once for concurrent quotes', async () => {
    let recordedCalls = 0;
    const gasPrice = async () => {
      recordedCalls++;
      return 7n * 10n ** 9n;
    };
    const { book } = await quotesFixture({ gasPrice, estimators: [answering('good', GOOD)] });
    const responses = await Promise.all(Array.from({ length: 50 }, () => quoted(book, SELL)));
    expect(recordedCalls).toBe(1);
    expect(responses[0]?.quote.gasPrice).toBe('7000000000');
  });

  test.each([
    ['rejects', async () => Promise.reject(new Error('no node'))],
    [
      'throws',
      () => {
        throw new Error('no node');
      },
    ],
    ['returns invalid data', () => 'a lot'],
    ['returns NaN', () => Number.NaN],
  ])('function that %s rejects the quote with ChainUnavailable and is called again by the next', async (_, fail) => {
    let broken = true;
    const { book, failures } = await quotesFixture({
      gasPrice: () => (broken ? fail() : 1),
      estimators: [answering('good', GOOD)],
    });
    expect(await rejected(book, SELL)).toMatchObject({ code: 'ChainUnavailable', retryable: true });
    expect(failures).toHaveLength(1);
    broken = false;
    await quoted(book, SELL);
  });

  test('function that hangs is not called again for a short request and times out as usual', async () => {
    let recordedCalls = 0;
    const { book, clock } = await quotesFixture({
      gasPrice: () => (++recordedCalls === 1 ? new Promise<bigint>(() => {}) : 1n),
      estimators: [answering('good', GOOD)],
    });
    for (const timeout of [0, ...Array.from({ length: 49 }, () => 100)]) {
      const waiting = watch(rejected(book, { ...SELL, timeout }));
      await settle();
      clock.advance(timeout);
      await settle();
      // The caller had a short timeout; the server did not fail.
      expect(waiting.value).toMatchObject({ code: 'NoLiquidity', message: 'the gas price was not available in time' });
    }
    expect(recordedCalls).toBe(1);
    clock.advance(100);
    await quoted(book, SELL);
    expect(recordedCalls).toBe(2);
  });

  test('function that hangs is aborted at the deadline and does not delay the next quote', async () => {
    let hangs = true;
    const { book, clock } = await quotesFixture({
      gasPrice: () => (hangs ? new Promise<bigint>(() => {}) : 1n),
      estimators: [answering('good', GOOD)],
    });
    const waiting = watch(rejected(book, SELL));
    await settle();
    clock.advance(5_000);
    await settle();
    expect(waiting.value?.code).toBe('ChainUnavailable');
    hangs = false;
    await quoted(book, SELL);
  });
});

describe('native price', () => {
  const priced = async (estimators: Estimator[], token: string) => {
    const { book } = await quotesFixture({ estimators });
    return book.quotes.nativePrice(token);
  };

  const stating = (name: string, price: string) => ({ ...answering(name, GOOD), nativePrice: () => price });

  test.each([
    [['3e-4'], '0.0003'],
    [['3e-4', '0.00031'], '0.000305'],
    [['3e-4', '0.00031', '0.0001'], '0.0003'],
    // Wrong prices, too high or too low, have little effect.
    [['1e58', '3e-4', '0.00031'], '0.00031'],
    [['1e-18', '3e-4', '0.00031'], '0.0003'],
    [['1e-18', '3e-4', '0.00031', '1e58'], '0.000305'],
  ])('from stated prices, %s, is the median', async (prices, price) => {
    const sources = prices.map((each, i) => stating(`source ${i}`, each));
    expect(await priced(sources, COW)).toEqual({ status: 'priced', price });
    expect(await priced(sources.toReversed(), COW)).toEqual({ status: 'priced', price });
  });

  test('from a small pool is requested for a thousandth of the standard amount', async () => {
    const pool = constantProduct([{ tokens: [COW, WETH], reserves: [10n ** 21n, 9n * 10n ** 16n] }]);
    const price = await priced([pool], COW);
    // 0.09 WETH for 1000 COW, and slightly less for the pool fee and the price impact.
    expect(price.status === 'priced' && Number(price.price)).toBeCloseTo(0.00009 * 0.997 * 0.999, 7);
    const recordedCalls: unknown[] = [];
    const knowing = (trade: Trade) => {
      recordedCalls.push(trade.amount);
      return undefined;
    };
    const { book } = await quotesFixture({ priceAmount: 500n, estimators: [knowing] });
    await book.quotes.nativePrice(COW);
    expect(recordedCalls).toEqual([500n]); // a thousandth of which is zero
  });

  test('from an estimator without stated prices is the cost of a standard amount of native currency', async () => {
    const trades: unknown[] = [];
    const bare = (trade: unknown) => {
      trades.push(trade);
      return { amount: 3n * 10n ** 20n, gas: 1 };
    };
    expect(await priced([{ name: 'bare', estimate: bare }], COW)).toEqual({
      status: 'priced',
      price: '0.000333333333333333333',
    });
    expect(trades).toEqual([
      { sellToken: COW.toLowerCase(), buyToken: WETH.toLowerCase(), kind: 'buy', amount: 10n ** 17n },
    ]);
  });

  test.each([
    ['a price of zero', 0],
    ['a negative price', -1],
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['less than a wei for 10^18 atoms', '9e-19'],
    ['more than 256 bits for 10^18 atoms', '1.2e59'],
    ['an object', {} as never],
  ])('ignores %s as a price', async (_, price) => {
    const result = await priced([{ ...answering('bad', GOOD), nativePrice: () => price }], COW);
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'NoLiquidity' } });
  });

  test('of wrapped and native currency is one, whatever estimators return', async () => {
    for (const token of [WETH, '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE']) {
      expect(await priced([], token)).toEqual({ status: 'priced', price: '1' });
    }
  });

  test('is cached for a limited time, also if the clock steps back', async () => {
    let recordedCalls = 0;
    const counting = {
      ...answering('one', GOOD),
      nativePrice: () => {
        recordedCalls++;
        return '0.0003';
      },
    };
    const { book, clock } = await quotesFixture({ estimators: [counting] });
    const requestPrice = async (expected: number) => {
      await book.quotes.nativePrice(COW);
      expect(recordedCalls).toBe(expected);
    };
    await requestPrice(1);
    clock.advance(29_999);
    await requestPrice(1);
    clock.advance(1);
    await requestPrice(2);
    clock.advance(29_999);
    clock.jump(-29_999);
    await requestPrice(2);
    clock.advance(1);
    await requestPrice(3);
  });

  test('of invalid address text is InvalidParameter', async () => {
    expect(await priced([], 'COW')).toMatchObject({ status: 'rejected', error: { code: 'InvalidParameter' } });
  });
});

/** A server on its own port. */
async function listening(handler: RequestListener) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a listening server has an address
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Number of waiting tasks of an idle book. */
async function idleTasks(): Promise<number> {
  return (await quotesFixture({ estimators: [] })).clock.pending;
}
