import { describe, expect, test } from 'vitest';
import { createEstimatorPool } from '../../../src/quotes/estimators.ts';
import { createNativePrices } from '../../../src/quotes/native-price.ts';
import { createRaceCache } from '../../../src/quotes/race-cache.ts';
import { manualClock } from '../../support/clock.ts';

const TOKEN = `0x${'11'.repeat(20)}` as const;
const flush = () => new Promise((resolve) => setImmediate(resolve));

/** Prices of two estimators, of which the second responds when the test says so. */
function fixture() {
  const clock = manualClock();
  const raceCache = createRaceCache(clock, 2000);
  const calls: string[] = [];
  const waiting: ((price: string) => void)[] = [];
  const estimate = () => undefined;
  const fast = {
    name: 'fast',
    estimate,
    nativePrice: () => {
      calls.push('fast');
      return '1';
    },
  };
  const slow = {
    name: 'slow',
    estimate,
    nativePrice: () => {
      calls.push('slow');
      return new Promise<string>((resolve) => waiting.push(resolve));
    },
  };
  const estimatorPool = createEstimatorPool({
    estimators: [fast, slow],
    clock,
    raceCache,
    wrappedNative: undefined,
    settlementContract: TOKEN,
    simulates: false,
    priceAmount: 10n ** 18n,
    observe: () => {},
    onFailure: (failure) => expect.fail(String(failure)),
  });
  const options = { estimatorPool, clock, wrappedNative: undefined, timeout: 1000, ttl: 60_000 };
  const prices = createNativePrices(options);
  return { clock, raceCache, calls, prices, respond: (price: string) => waiting.shift()?.(price) };
}

describe('native price', () => {
  test('of a race that was closed is not cached', async () => {
    const { raceCache, calls, prices } = fixture();
    const first = prices.get(TOKEN, 1000, 'end');
    await flush();
    raceCache.close();
    expect(await first).toMatchObject({ code: expect.any(String) });
    void prices.get(TOKEN, 1000, 'end');
    await flush();
    expect(calls).toEqual(['fast', 'slow', 'fast', 'slow']);
    raceCache.close();
  });

  test('of a race that has ended is cached', async () => {
    const { calls, prices, respond } = fixture();
    const first = prices.get(TOKEN, 1000, 'end');
    await flush();
    respond('3');
    const price = await first;
    expect(await prices.get(TOKEN, 1000, 'end')).toEqual(price);
    expect(calls).toEqual(['fast', 'slow']);
  });

  test('of the estimators that respond in time is cached, without the partial result of an earlier caller', async () => {
    const { clock, calls, prices, respond } = fixture();
    const early = prices.get(TOKEN, 100, 'end');
    await flush();
    clock.advance(100);
    const partial = await early;
    respond('3');
    await flush();
    expect(await prices.get(TOKEN, 1000, 'end')).not.toEqual(partial);
    expect(calls).toEqual(['fast', 'slow']);
  });
});
