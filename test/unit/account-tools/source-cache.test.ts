import { describe, expect, test } from 'vitest';
import type { SourceObserver } from '../../../src/account-tools/observations.ts';
import type { CachedSource } from '../../../src/account-tools/source-cache.ts';
import { createSourceCache } from '../../../src/account-tools/source-cache.ts';
import { createUsdPrices } from '../../../src/market/usd-prices.ts';
import { manualClock } from '../../support/clock.ts';

/** An observer that records the names of queried sources, and hits as `cache`. */
function recorder() {
  const observed: string[] = [];
  const observer: SourceObserver = {
    observe: () => () => {},
    cached: (subject) => void observed.push(`${subject} cache`),
    measure(subject, source, query) {
      observed.push(`${subject} ${source}`);
      return query();
    },
  };
  return { observed, observer };
}

function fixture(
  read: CachedSource<string, number>['read'],
  { ttl = 1000, maxEntries = 2, hasMonotonicTime = true } = {},
) {
  const clock = manualClock();
  const { observed, observer } = recorder();
  const failures: unknown[] = [];
  const source = { name: 'a', read, onFailure: (_: string, cause: unknown) => void failures.push(cause) };
  const { get } = createSourceCache<string, number>({
    sources: [source],
    key: (query) => query.toLowerCase(),
    ttl,
    maxEntries,
    timeout: 5000,
    clock: hasMonotonicTime ? clock : { now: clock.now, after: clock.after },
    subject: 'usdPrice',
    observer,
  });
  return { get, clock, observed, failures };
}

describe('source cache', () => {
  test('aborts a source at its timeout, and reports it once', async () => {
    let signal: AbortSignal | undefined;
    const { get, clock, failures } = fixture((_, call) => {
      signal = call.signal;
      return new Promise(() => {});
    });
    const found = get('x');
    await Promise.resolve();
    clock.advance(4999);
    expect(signal?.aborted).toBe(false);
    clock.advance(1);
    expect(await found).toBeUndefined();
    expect([signal?.aborted, failures.length]).toEqual([true, 1]);
  });

  test('keeps no value with a time of 0, also not within the same millisecond', async () => {
    let value = 0;
    const { get } = fixture(() => ++value, { ttl: 0 });
    expect([await get('x'), await get('x')]).toEqual([
      { value: 1, freshFor: 0 },
      { value: 2, freshFor: 0 },
    ]);
  });

  test('drops the value that was read first when it is full', async () => {
    const { get, observed } = fixture(() => 1);
    for (const query of ['a', 'b']) await get(query);
    await get('A');
    expect(observed.splice(0)).toEqual(['usdPrice a', 'usdPrice a', 'usdPrice cache']);
    await get('c');
    await get('b');
    expect(observed.splice(0)).toEqual(['usdPrice a', 'usdPrice cache']);
    await get('a');
    expect(observed).toEqual(['usdPrice a']);
  });

  test('keeps the age of a value when the clock is set back', async () => {
    const { get, clock, observed } = fixture(() => 1);
    await get('a');
    clock.advance(999);
    clock.jump(-999);
    expect(await get('a')).toEqual({ value: 1, freshFor: 1 });
    clock.advance(1);
    expect(await get('a')).toEqual({ value: 1, freshFor: 1000 });
    expect(observed).toEqual(['usdPrice a', 'usdPrice cache', 'usdPrice a']);
  });

  test('does not use a value from a clock without monotonic time that was ahead', async () => {
    const { get, clock, observed } = fixture(() => 1, { hasMonotonicTime: false });
    await get('a');
    clock.jump(-1);
    expect(await get('a')).toEqual({ value: 1, freshFor: 1000 });
    clock.advance(999);
    expect(await get('a')).toEqual({ value: 1, freshFor: 1 });
    expect(observed).toEqual(['usdPrice a', 'usdPrice a', 'usdPrice cache']);
  });
});

describe('prices in US dollars', () => {
  const sources = [{ name: 'x', usdPrice: () => 1 }];
  const context = () => ({ clock: manualClock(), onFailure: () => {}, observer: recorder().observer });
  const TOKEN = `0x${'Ab'.repeat(20)}`;

  test.each([
    [{ sources, cacheTtl: -1 }, 'createAccounts: usdPrices.cacheTtl must be a number of at least 0, got -1'],
    [{ sources, cacheTtl: Number.NaN }, 'createAccounts: usdPrices.cacheTtl must be a number of at least 0, got NaN'],
    [{ sources, maxPrices: 0 }, 'createAccounts: usdPrices.maxPrices must be a number of at least 1, got 0'],
    [
      { sources, maxPrices: Number.POSITIVE_INFINITY },
      'createAccounts: usdPrices.maxPrices must be a number of at least 1, got Infinity',
    ],
    [{ sources, timeout: 0 }, 'createAccounts: usdPrices.timeout must be a number of at least 1, got 0'],
    [{ sources, timeout: '5' }, 'createAccounts: usdPrices.timeout must be a number of at least 1, got 5'],
    [{ sources: undefined }, 'createAccounts: usdPrices.sources must be a list of sources'],
    [{ sources: [undefined] }, 'createAccounts: usdPrices.sources must be a list of sources'],
    [{ sources: [...sources, {}] }, 'createAccounts: usdPrices.sources must be a list of sources'],
    [{ sources, ttl: 1 }, 'createAccounts, usdPrices: unknown option "ttl", use sources, cacheTtl, maxPrices, timeout'],
  ])('reject the options %j', (options, message) => {
    // An untyped application.
    expect(() => createUsdPrices(options as never, context())).toThrow(new TypeError(message));
  });

  test('accept all options at their minimum', async () => {
    const prices = createUsdPrices({ sources, cacheTtl: 0, maxPrices: 1, timeout: 1 }, context());
    expect(await prices.get(1, TOKEN)).toEqual({ price: 1, freshFor: 0 });
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '1'])('reject the price %s of a source', async (price) => {
    const failures: unknown[] = [];
    const broken = [{ name: 'broken', usdPrice: () => price as number }]; // an untyped source
    const prices = createUsdPrices({ sources: broken }, { ...context(), onFailure: (each) => failures.push(each) });
    await expect(prices.get(1, TOKEN)).rejects.toMatchObject({ status: 503 });
    const cause = new TypeError(`the price must be a positive number, got ${price}`);
    expect(failures).toMatchObject([{ message: `broken failed for ${TOKEN.toLowerCase()} on chain 1`, cause }]);
  });
});
