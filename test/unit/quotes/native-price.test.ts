import type { Hex, VaultReader, VaultShare } from 'intentbook';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createEstimatorPool } from '../../../src/quotes/estimators.ts';
import { createNativePrices } from '../../../src/quotes/native-price.ts';
import { createRaceCache } from '../../../src/quotes/race-cache.ts';
import { manualClock } from '../../support/clock.ts';
import { quotesFixture } from './quotes-fixture.ts';

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

describe('native price of a share of a vault', () => {
  const [VAULT, OUTER, ASSET] = [0x21, 0x22, 0x23].map((n) => `0x${n.toString(16).repeat(20)}`) as [Hex, Hex, Hex];
  const SHARES: Readonly<Record<Hex, VaultShare>> = {
    // A share of 18 decimals is worth 1.1 of an asset with 6 decimals.
    [VAULT]: { asset: ASSET, assets: 1_100_000n, decimals: 18 },
    [OUTER]: { asset: VAULT, assets: 2n * 10n ** 18n, decimals: 6 },
  };
  const prices: Readonly<Record<Hex, string>> = { [ASSET]: '400000000', [VAULT]: '1', [TOKEN]: '3' };

  async function priced(readShare: VaultReader['readShare']) {
    const queried: string[] = [];
    const nativePrice = (token: Hex) => {
      queried.push(token);
      return prices[token];
    };
    const estimators = [{ name: 'one', estimate: () => undefined, nativePrice }];
    const fixture = await quotesFixture({ estimators, vaults: { readShare } });
    onTestFinished(() => fixture.book.close());
    const read = async (token: Hex) => {
      const result = await fixture.book.quotes.nativePrice(token);
      return result.status === 'priced' ? result.price : result.error.code;
    };
    return { ...fixture, queried, read };
  }

  test('is that of its assets, through vaults of vaults, exactly', async () => {
    const { read, queried } = await priced(async (token) => SHARES[token]);
    expect(await read(VAULT)).toBe('0.00044');
    expect(await read(OUTER)).toBe('880000000');
    expect(queried).toEqual([ASSET]);
    expect(await read(VAULT)).toBe('0.00044');
  });

  test('reads a token that is no vault once', async () => {
    const reads: string[] = [];
    const { read, clock } = await priced(async (token) => {
      reads.push(token);
      return SHARES[token];
    });
    expect(await read(TOKEN)).toBe('3');
    clock.advance(60_000);
    expect(await read(TOKEN)).toBe('3');
    expect(reads).toEqual([TOKEN]);
  });

  test('is that of the estimators while the reader fails, which is reported', async () => {
    const { read, failures } = await priced(() => Promise.reject(new Error('offline')));
    expect([await read(VAULT), failures.map(String)]).toEqual(['1', ['Error: offline']]);
  });

  test('is that of the estimators for a cycle of vaults', async () => {
    let reads = 0;
    const { read } = await priced(async (token) => {
      reads++;
      return { asset: token === VAULT ? OUTER : VAULT, assets: 1n, decimals: 0 };
    });
    expect(await read(VAULT)).toBe('1');
    expect(reads).toBeLessThanOrEqual(6);
  });

  test.each([
    ['above 256 bits', { asset: ASSET, assets: 2n ** 256n - 1n, decimals: 0 }],
    ['of less than a wei', { asset: ASSET, assets: 1n, decimals: 77 }],
  ])('is unknown for a value %s', async (_name, share) => {
    const { read } = await priced(async (token) => (token === VAULT ? share : undefined));
    expect(await read(VAULT)).toBe('NoLiquidity');
  });

  test('notices a vault that is deployed later', async () => {
    let isDeployed = false;
    const { read, clock } = await priced(async (token) => (isDeployed ? SHARES[token] : undefined));
    expect(await read(OUTER)).toBe('NoLiquidity');
    isDeployed = true;
    clock.advance(600_000);
    expect(await read(OUTER)).toBe('880000000');
  });

  test('leaves time for the estimators if the reader does not respond', async () => {
    const { book, clock } = await priced(() => new Promise(() => {}));
    const reading = book.quotes.nativePrice(VAULT);
    await flush();
    clock.advance(5_000 / 2);
    expect(await reading).toMatchObject({ status: 'priced', price: '1' });
  });

  test('waits for the reader no longer than the caller', async () => {
    const { book, failures } = await priced(() => new Promise(() => {}));
    const caller = new AbortController();
    const reading = book.quotes.nativePrice(VAULT, caller);
    caller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    expect(failures).toEqual([]);
  });

  test('ends for a vault of itself', async () => {
    const { read } = await priced(async () => ({ asset: TOKEN, assets: 1n, decimals: 0 }));
    expect(await read(TOKEN)).toBe('3');
    expect(await read(VAULT)).toBe('3');
  });
});

describe('native price', () => {
  test('is the median of the prices so far for a caller that leaves', async () => {
    const { prices } = fixture();
    const caller = new AbortController();
    const price = prices.get(TOKEN, 1000, 'end', caller.signal);
    await flush();
    caller.abort(new Error('late'));
    expect(await price).toMatchObject({ digits: 1n });
  });

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
