import * as fc from 'fast-check';
import type { UpstreamClass } from 'intentbook';
import { describe, expect, it } from 'vitest';
import type { BudgetLimits, Turn } from '../../../../adapters/upstream/budget.ts';
import { createBudget } from '../../../../adapters/upstream/budget.ts';
import { manualClock } from '../../../support/clock.ts';
import { json, OWNER, settle, upstreamFixture } from './upstream-fixture.ts';

const LIMITS: BudgetLimits = { rates: { read: 1.5, write: 2, quote: 2 }, concurrency: 2 };
const WAIT = { maxWait: 1e9 };

interface Start {
  readonly name: UpstreamClass;
  readonly at: number;
}

/** A call that arrives at a time, and whose response takes a time. */
const call = fc.record({
  name: fc.constantFrom<UpstreamClass>('read', 'write', 'quote'),
  at: fc.integer({ min: 0, max: 20_000 }),
  duration: fc.integer({ min: 0, max: 3000 }),
});

/** Runs calls against a budget. Returns when each was sent, and the largest number under way. */
async function run(calls: readonly { name: UpstreamClass; at: number; duration: number }[], limits = LIMITS) {
  const clock = manualClock();
  const budget = createBudget('host', clock, limits);
  const begin = clock.now();
  const starts: Start[] = [];
  let [underWay, most] = [0, 0];
  for (const { name, at, duration } of calls) {
    clock.after(at, () => {
      void budget.acquire(name, WAIT).then((turn) => {
        if ('status' in turn) throw new Error('blocked');
        starts.push({ name, at: clock.now() - begin });
        most = Math.max(most, ++underWay);
        clock.after(duration, () => {
          underWay--;
          turn.end('answered');
        });
      });
    });
  }
  while (clock.pending > calls.length || starts.length < calls.length) {
    clock.advance(50);
    for (let i = 0; i < 6; i++) await undefined;
  }
  return { starts, most };
}

describe('budget of requests', () => {
  it('never sends a class faster than its rate, nor more than two requests at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 40 }), async (calls) => {
        const { starts, most } = await run(calls);
        expect(most).toBeLessThanOrEqual(2);
        expect(starts).toHaveLength(calls.length);
        for (const name of ['read', 'write', 'quote'] as const) {
          const times = starts.filter((each) => each.name === name).map(({ at }) => at);
          // The test advances in steps of 50 ms, so a start may be seen up to a step late.
          times.slice(1).forEach((time, i) => {
            expect(time - (times[i] ?? 0)).toBeGreaterThanOrEqual(1000 / LIMITS.rates[name] - 50);
          });
        }
      }),
      { numRuns: 30 },
    );
  });

  it('sends the first request after a quiet time at once', async () => {
    const { starts } = await run([
      { name: 'read', at: 100, duration: 10 },
      { name: 'read', at: 5100, duration: 10 },
    ]);
    expect(starts.map(({ at }) => at)).toEqual([100, 5100]);
  });

  it('sends waiting writes before quotes and reads', async () => {
    const clock = manualClock();
    const budget = createBudget('host', clock, { rates: { read: 1e6, write: 1e6, quote: 1e6 }, concurrency: 1 });
    const order: string[] = [];
    const first = (await budget.acquire('read', WAIT)) as Turn; // the budget is not paused
    for (const name of ['read', 'quote', 'write', 'read', 'write'] as const) {
      void budget.acquire(name, WAIT).then((turn) => {
        order.push(name);
        clock.after(10, () => 'end' in turn && turn.end('answered'));
      });
    }
    first.end('answered');
    for (let i = 0; i < 20; i++) {
      clock.advance(5);
      await settle();
    }
    expect(order).toEqual(['write', 'write', 'quote', 'read', 'read']);
  });

  it('starves no class while writes use every place', async () => {
    const limits = { rates: { read: 100, write: 100, quote: 100 }, concurrency: 1 };
    const calls = Array.from({ length: 60 }, () => ({ name: 'write' as UpstreamClass, at: 0, duration: 100 }));
    const { starts } = await run([...calls, { name: 'read', at: 10, duration: 10 }], limits);
    expect(starts.findIndex(({ name }) => name === 'read')).toBeLessThanOrEqual(6);
  });

  it('keeps a place for writes beside quotes that take long', async () => {
    const limits = { rates: { read: 100, write: 100, quote: 100 }, concurrency: 2 };
    const { starts } = await run(
      [
        { name: 'quote', at: 0, duration: 5000 },
        { name: 'quote', at: 0, duration: 5000 },
        { name: 'write', at: 1000, duration: 10 },
      ],
      limits,
    );
    expect(starts.map(({ name }) => name)).toEqual(['quote', 'write', 'quote']);
  });

  it('is shared by all books of a process with the same host and key, and the lowest limits apply', async () => {
    const clock = manualClock();
    const options = { apiKey: 'key' };
    const first = upstreamFixture(() => json(200, []), { ...options, budget: { read: 100 } }, { clock });
    const second = upstreamFixture(() => json(200, []), { ...options, budget: { read: 1 } }, { clock });
    const other = upstreamFixture(() => json(200, []), { apiKey: 'another' }, { clock });
    const page = { offset: 0, limit: 1 };
    for (const { upstream } of [first, second, other]) void upstream.listOrders(OWNER, page);
    await settle();
    expect([first, second, other].map(({ requests }) => requests.length)).toEqual([1, 0, 1]);
    await first.advance(950);
    expect(second.requests).toHaveLength(0);
    await first.advance(200);
    expect(second.requests).toHaveLength(1);
  });

  it('scenario 39: is shared among processes by the reservations of the book', async () => {
    const clock = manualClock();
    const reserved = new Map<string, number>();
    // What a store does: each process gets a later turn.
    const reserve = async (name: string, interval: number) => {
      const time = Math.max(clock.now(), (reserved.get(name) ?? 0) + interval);
      reserved.set(name, time);
      return time;
    };
    // Two processes have no budget in common: the clocks differ.
    const processes = [{ ...clock }, { ...clock }].map((each) =>
      upstreamFixture(() => json(200, []), { apiKey: 'key' }, { clock: { ...clock, ...each }, reserve }),
    );
    for (const { upstream } of processes) {
      for (let offset = 0; offset < 6; offset++) void upstream.listOrders(OWNER, { offset, limit: 1 });
    }
    for (let i = 0; i < 100; i++) {
      clock.advance(100);
      await settle();
    }
    const times = processes.flatMap(({ requests }) => requests.map(({ at }) => at)).sort((a, b) => a - b);
    expect(times).toHaveLength(12);
    for (let i = 1; i < times.length; i++) {
      expect((times[i] ?? 0) - (times[i - 1] ?? 0)).toBeGreaterThanOrEqual(666 - 100);
    }
    expect(times.at(-1)).toBeGreaterThanOrEqual(11 * 666);
    expect([...reserved.keys()]).toEqual([expect.stringMatching(/^upstream book\.example [0-9a-f]{12} read$/)]);
    expect([...reserved.keys()].join()).not.toContain('key');
  });

  it('postpones the turns of other processes while the edge requires fewer requests', async () => {
    const clock = manualClock();
    const reserved: [string, number][] = [];
    const reserve = async (name: string, interval: number) => {
      reserved.push([name.split(' ').at(-1) ?? '', interval]);
      return clock.now();
    };
    const answers = [429, 200];
    const { upstream } = upstreamFixture(() => json(answers.shift() ?? 200, []), {}, { clock, reserve });
    expect(await upstream.listOrders(OWNER, { offset: 0, limit: 1 })).toMatchObject({ status: 'blocked' });
    expect(reserved.at(-1)).toEqual(['read', 60_000]);
  });

  it('continues with its own spacing when no turn can be reserved', async () => {
    const reserve = () => Promise.reject(new Error('the store is unavailable'));
    const { upstream } = upstreamFixture(() => json(200, []), {}, { reserve });
    expect(await upstream.listOrders(OWNER, { offset: 0, limit: 1 })).toMatchObject({ status: 'read' });
  });

  it('does not use a turn that was reserved for a call that has ended', async () => {
    const clock = manualClock();
    const replies: ((time: number) => void)[] = [];
    const reserve = () => new Promise<number>((resolve) => replies.push(resolve));
    const budget = createBudget('host', clock, LIMITS);
    const control = new AbortController();
    const ended = budget.acquire('read', { ...WAIT, reserve, signal: control.signal });
    control.abort();
    expect(await ended).toMatchObject({ status: 'blocked' });
    replies[0]?.(clock.now());
    await settle();
    // Other processes have reserved the turns since.
    clock.advance(60_000);
    void budget.acquire('read', { ...WAIT, reserve });
    await settle();
    expect(replies).toHaveLength(2);
  });

  it('blocks a call that waits too long for its turn', async () => {
    const { upstream, clock } = upstreamFixture(() => 'silence', { timeouts: { wait: 1000 } });
    const pages = [0, 1, 2].map((offset) => upstream.listOrders(OWNER, { offset, limit: 1 }));
    await settle();
    clock.advance(1000);
    expect(await pages[2]).toMatchObject({ status: 'blocked', reason: 'too many calls wait for their turn' });
  });

  it('joins equal reads that wait for their turn, but none that was sent', async () => {
    const { upstream, requests, advance } = upstreamFixture(() => json(200, []));
    const page = { offset: 0, limit: 1 };
    const first = upstream.listOrders(OWNER, page);
    await settle();
    const results = [first, upstream.listOrders(OWNER, page), upstream.listOrders(OWNER, page)];
    await advance(3000);
    const reads = await Promise.all(results);
    expect(requests).toHaveLength(2);
    expect(new Set(reads.map((each) => 'startedAt' in each && each.startedAt)).size).toBe(2);
  });
});

it('the end of an older call does not reject the probe of a pause', async () => {
  const clock = manualClock();
  const budget = createBudget('host', clock, { ...LIMITS, rates: { ...LIMITS.rates, read: 0.5 } }, () => 0);
  const older = await budget.acquire('read', WAIT);
  clock.advance(2_001);
  const paused = await budget.acquire('read', WAIT);
  if (!('end' in older) || !('end' in paused)) throw new Error('a turn was refused');
  paused.end({ kind: 'edge', reason: '429', delay: 500 });
  clock.advance(600);
  const probe = budget.acquire('read', WAIT);
  await settle();
  older.end('answered');
  clock.advance(5_000);
  expect(await probe).toHaveProperty('end');
});
