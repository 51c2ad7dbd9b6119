import fc from 'fast-check';
import type { UsdPriceQuery, UsdPriceSource } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { createSourceObserver } from '../../../src/account-tools/observations.ts';
import type { UsdPricesOptions } from '../../../src/market/usd-prices.ts';
import { createUsdPrices } from '../../../src/market/usd-prices.ts';
import { manualClock } from '../../support/clock.ts';

const query = (n: number): UsdPriceQuery => ({ chainId: 1, token: `0x${n.toString(16).padStart(40, '0')}` });

type Line = number | undefined | Error | 'silence' | 'rejection' | Promise<number | undefined>;

/** A source that returns scripted results, and repeats the last one. */
function source(name: string, ...lines: Line[]) {
  const queries: UsdPriceQuery[] = [];
  const signals: AbortSignal[] = [];
  const usdPrice: UsdPriceSource['usdPrice'] = (about, { signal }) => {
    const line = lines[Math.min(queries.length, lines.length - 1)];
    queries.push(about);
    signals.push(signal);
    if (line instanceof Error) throw line;
    if (line === 'rejection') return Promise.reject(new Error('out of order'));
    return line === 'silence' ? new Promise(() => {}) : line;
  };
  return { name, usdPrice, queries, signals };
}

function fixture(sources: readonly UsdPriceSource[], options: Omit<UsdPricesOptions, 'sources'> = {}) {
  const clock = manualClock();
  const failures: unknown[] = [];
  const onFailure = (failure: unknown) => void failures.push(failure);
  const observer = createSourceObserver(clock, onFailure);
  const prices = createUsdPrices({ sources, ...options }, { clock, onFailure, observer });
  return { clock, failures, get: async (n: number) => (await prices.get(1, query(n).token))?.price };
}

describe('USD prices', () => {
  test('come from the first source with a price', async () => {
    const [first, second, third] = [source('first', undefined), source('second', 2), source('third', 3)];
    const { get, failures } = fixture([first, second, third]);
    expect(await get(1)).toBe(2);
    expect([first.queries.length, second.queries.length, third.queries.length]).toEqual([1, 1, 0]);
    expect(failures).toEqual([]);
  });

  test.each<[string, Line]>([
    ['throws', new Error('out of order')],
    ['rejects', 'rejection'],
    ['returns 0', 0],
    ['returns a negative number', -1],
    ['returns NaN', Number.NaN],
    ['returns infinity', Number.POSITIVE_INFINITY],
    ['returns text', '1' as never],
  ])('fall through to the next source when one %s, and report it', async (_, line) => {
    const { get, failures } = fixture([source('bad', line), source('good', 7)]);
    expect(await get(1)).toBe(7);
    expect(failures).toMatchObject([{ name: 'UsdPriceError', message: expect.stringContaining('bad failed for 0x') }]);
  });

  test('abort a source at its timeout', async () => {
    const slow = source('slow', 'silence');
    const { get, clock, failures } = fixture([slow, source('good', 7)], { timeout: 1000 });
    const price = get(1);
    clock.advance(999);
    expect(slow.signals[0]?.aborted).toBe(false);
    clock.advance(1);
    expect(await price).toBe(7);
    expect(slow.signals[0]?.aborted).toBe(true);
    expect(failures).toMatchObject([{ cause: { name: 'DeadlineError' } }]);
    expect(clock.pending).toBe(0);
  });

  test('are cached for their lifetime and queried again afterwards', async () => {
    const only = source('only', 1, 2);
    const { get, clock } = fixture([only], { cacheTtl: 1000 });
    expect([await get(1), await get(1)]).toEqual([1, 1]);
    clock.advance(999);
    expect(await get(1)).toBe(1);
    clock.advance(1);
    expect(await get(1)).toBe(2);
    clock.advance(999);
    clock.jump(-5000); // a clock that is set back does not extend a lifetime
    expect([await get(1), only.queries.length]).toEqual([2, 2]);
    clock.advance(1);
    await get(1);
    expect(only.queries.length).toBe(3);
  });

  test('do not cache a missing price or a failure', async () => {
    const only = source('only', undefined, new Error('out of order'), 5);
    const { get } = fixture([only]);
    expect(await get(1)).toBeUndefined();
    await expect(get(1)).rejects.toMatchObject({ status: 503 });
    expect([await get(1), await get(1)]).toEqual([5, 5]);
  });

  test('are queried once for concurrent requests of one token', async () => {
    let answer: (price: number) => void = () => {};
    const only = source('only', new Promise<number>((resolve) => (answer = resolve)));
    const { get } = fixture([only]);
    const concurrent = [...Array.from({ length: 50 }, () => get(1)), get(2)];
    answer(9);
    expect(new Set(await Promise.all(concurrent))).toEqual(new Set([9]));
    expect(only.queries.length).toBe(2);
  });

  test('share a failure with concurrent requests only', async () => {
    const only = source('only', new Error('out of order'), 4);
    const { get } = fixture([only]);
    const results = await Promise.allSettled([get(1), get(1)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(only.queries.length).toBe(1);
    expect(await get(1)).toBe(4);
  });

  test('keep a limited number of cache entries, the newest', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 0, max: 9 })),
        async (room, tokens) => {
          const only = source('only', 1);
          const { get } = fixture([only], { maxPrices: room });
          let kept: number[] = [];
          for (const token of tokens) {
            const before = only.queries.length;
            await get(token);
            expect(only.queries.length - before).toBe(kept.includes(token) ? 0 : 1);
            if (!kept.includes(token)) kept = [...kept, token].slice(-room);
          }
        },
      ),
    );
  });

  test.each([
    [{ sources: [], cacheTl: 1 }, 'createAccounts, usdPrices: unknown option "cacheTl", did you mean "cacheTtl"?'],
    [{ sources: [], maxPrices: 0 }, 'createAccounts: usdPrices.maxPrices must be a number of at least 1, got 0'],
    [{ sources: [{}] }, 'createAccounts: usdPrices.sources must be a list of sources'],
  ])('reject the options %j', (options, message) => {
    const clock = manualClock();
    const context = { clock, onFailure: () => {}, observer: createSourceObserver(clock, () => {}) };
    expect(() => createUsdPrices(options as never, context)).toThrow(new TypeError(message));
  });
});
