import fc from 'fast-check';
import type { RequestKind, TokenBucketsOptions } from 'intentbook';
import { tokenBuckets } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { manualClock } from '../../support/clock.ts';

function fixture(options: Omit<TokenBucketsOptions, 'clock'> = {}) {
  const clock = manualClock();
  const limiter = tokenBuckets({
    reads: { perSecond: 2, burst: 4 },
    writes: { perSecond: 1, burst: 2 },
    ...options,
    clock,
  });
  // In this process it returns synchronously.
  const take = (client: string, kind: RequestKind = 'read', tokens = 1) =>
    limiter.take(client, kind, tokens) as Awaited<ReturnType<typeof limiter.take>>;
  const open = (client: string) => limiter.open(client) as Awaited<ReturnType<typeof limiter.open>>;
  const taken = (client: string, kind: RequestKind = 'read') => {
    let count = 0;
    while (take(client, kind).status === 'admitted') count++;
    return count;
  };
  return { clock, limiter, take, open, taken };
}

describe('token buckets', () => {
  test('admits a burst at once and then requests at the refill rate', () => {
    const { clock, take, taken } = fixture();
    expect(taken('a')).toBe(4);
    expect(take('a')).toEqual({ status: 'rejected', retryAfter: 1 });
    clock.advance(499);
    expect(take('a').status).toBe('rejected');
    clock.advance(1);
    expect(taken('a')).toBe(1);
    clock.advance(3_600_000);
    expect(taken('a')).toBe(4);
  });

  test('keep separate tokens for reads, writes and clients', () => {
    const { taken } = fixture();
    expect([taken('a', 'read'), taken('a', 'write'), taken('b', 'write'), taken('b', 'read')]).toEqual([4, 2, 2, 4]);
  });

  test('admit a client after the announced wait and not much earlier', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 100, noNaN: true }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 30 }),
        (perSecond, burst, pauses) => {
          const { clock, take } = fixture({ reads: { perSecond, burst } });
          for (const pause of pauses) {
            clock.advance(pause);
            take('a');
          }
          let answer = take('a');
          while (answer.status === 'admitted') answer = take('a');
          const { retryAfter = 0 } = answer;
          expect(Number.isInteger(retryAfter)).toBe(true);
          if (retryAfter > 1) {
            clock.advance(1000 * (retryAfter - 1) - 1);
            expect(take('a').status).toBe('rejected');
            clock.advance(1001);
          } else clock.advance(1000);
          expect(take('a').status).toBe('admitted');
        },
      ),
    );
  });

  test('admit over any period no more than the burst plus the refill', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2000 }), { minLength: 1, maxLength: 100 }), (pauses) => {
        const { clock, take } = fixture();
        const start = clock.now();
        let admitted = 0;
        for (const pause of pauses) {
          clock.advance(pause);
          if (take('a').status === 'admitted') admitted++;
          expect(admitted).toBeLessThanOrEqual(4 + ((clock.now() - start) / 1000) * 2 + 1e-3);
        }
      }),
    );
  });

  test('admit a cost above the burst when full, and charge all of it as a debt', async () => {
    const { clock, limiter, take, taken } = fixture();
    expect(take('a', 'read', 7)).toEqual({ status: 'admitted' });
    // Minus 3 tokens: 2 seconds until the bucket contains 1 token, 3.5 seconds until it is full.
    expect(take('a')).toEqual({ status: 'rejected', retryAfter: 2 });
    expect(take('a', 'read', 100)).toEqual({ status: 'rejected', retryAfter: 4 });
    clock.advance(2000);
    expect(taken('a')).toBe(1);
    clock.advance(2000);
    expect(take('a', 'read', 1000)).toEqual({ status: 'admitted' });
    await limiter.charge?.('a', 'read', 1000);
    // Minus 1996 tokens: 998.5 seconds until the bucket contains 1 token.
    expect(take('a')).toEqual({ status: 'rejected', retryAfter: 999 });
    clock.advance(998_500);
    expect(taken('a')).toBe(1);
    expect(taken('a', 'write')).toBe(2);
  });

  test('take back the tokens that a request has not used, up to the burst', async () => {
    const { limiter, take, taken } = fixture();
    expect(take('a', 'read', 4).status).toBe('admitted');
    await limiter.charge?.('a', 'read', -3);
    expect(taken('a')).toBe(3);
    await limiter.charge?.('a', 'read', -100);
    expect(taken('a')).toBe(4);
  });

  test('ignore a clock that steps back', () => {
    const { clock, take, taken } = fixture();
    expect(taken('a')).toBe(4);
    clock.set(clock.now() - 3_600_000);
    expect(take('a').status).toBe('rejected');
    clock.advance(1000);
    expect(taken('a')).toBe(2);
  });

  test('remember a limited number of clients and remove idle ones', () => {
    const { taken } = fixture({ maxClients: 4 });
    for (const client of ['a', 'b', 'c']) expect(taken(client)).toBe(4);
    expect(taken('a')).toBe(0); // advances to c
    expect(taken('d')).toBe(4); // replaces b
    for (const client of ['a', 'c', 'd', 'a', 'c']) expect(taken(client)).toBe(0);
    expect(taken('b')).toBe(4);
  });

  test('stay within the size limit with half a million clients', () => {
    const { take } = fixture({ maxClients: 1000 });
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 500_000; i++) take(`client ${i}`);
    globalThis.gc?.();
    // A thousand clients take some hundred kilobytes; all of them would take some two hundred megabytes.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(60_000_000);
  });

  test('limit concurrent streams per client independently of requests', () => {
    const { open, taken } = fixture({ streams: 2, maxClients: 2 });
    const first = open('a');
    open('a');
    for (const client of ['b', 'c', 'd']) taken(client); // a is forgotten, but not its streams
    expect(open('a')).toEqual({ status: 'rejected', retryAfter: 5 });
    expect(open('b').status).toBe('admitted');
    if (first.status === 'admitted') {
      first.release();
      first.release();
    }
    expect(open('a').status).toBe('admitted');
    expect(open('a').status).toBe('rejected');
  });

  test.each([
    [{ read: { perSecond: 1 } }, 'tokenBuckets: unknown option "read", did you mean "reads"?'],
    [{ reads: { perSecond: 0 } }, 'tokenBuckets: reads.perSecond must be a number above 0, got 0'],
    [{ writes: { perSecond: 1, burst: 0.5 } }, 'tokenBuckets: writes.burst must be a number of at least 1, got 0.5'],
    [{ streams: -1 }, 'tokenBuckets: streams must be an integer from 0 up, got -1'],
    [{ maxClients: 1 }, 'tokenBuckets: maxClients must be an integer from 2 up, got 1'],
  ])('reject %j', (options, message) => {
    expect(() => tokenBuckets(options as TokenBucketsOptions)).toThrow(new TypeError(message));
  });
});
