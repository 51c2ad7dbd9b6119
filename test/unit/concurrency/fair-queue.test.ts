import { describe, expect, it } from 'vitest';
import { createConcurrencyLimit, createFairQueue, createThrottle } from '../../../src/concurrency/limit.ts';
import { range } from '../../conformance/orders.ts';

const flush = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

describe('fair queue', () => {
  it('lets clients take turns, and keeps the order of one client', () => {
    const queue = createFairQueue<string>();
    for (const n of range(3)) queue.push('many', `many ${n}`);
    queue.push('one', 'one 0');
    queue.push('two', 'two 0');
    queue.push('two', 'two 1');
    const taken = range(queue.size).map(() => queue.shift());
    expect(taken).toEqual(['many 0', 'one 0', 'two 0', 'many 1', 'two 1', 'many 2']);
    expect([queue.size, queue.shift()]).toEqual([0, undefined]);
  });

  it('passes over clients that are not ready, without losing their turn', () => {
    const queue = createFairQueue<string>();
    for (const client of ['a', 'b', 'a']) queue.push(client, client);
    expect(queue.shift((client) => client !== 'a')).toBe('b');
    expect(queue.shift((client) => client !== 'a')).toBe(undefined);
    expect([queue.shift(), queue.shift()]).toEqual(['a', 'a']);
  });
});

describe('concurrency limit', () => {
  /** Starts jobs that end when the test says so, and records the order of their starts. */
  function fixture(max: number, maxPerClient?: number) {
    const limit = createConcurrencyLimit(max, maxPerClient);
    const started: string[] = [];
    const ends = new Map<string, () => void>();
    const add = (client: string, name: string) =>
      limit.run(async () => {
        started.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
      }, client);
    return { limit, started, add, end: (name: string) => ends.get(name)?.() };
  }

  it('starts the job of another client after one job of a client with many', async () => {
    const { started, add, end, limit } = fixture(2);
    for (const n of range(50)) void add('many', `many ${n}`);
    void add('one', 'one');
    await flush();
    expect(started).toEqual(['many 0', 'many 1']);
    end('many 0');
    await flush();
    end('many 1');
    await flush();
    expect(started.slice(2)).toEqual(['many 2', 'one']);
    expect(limit.waiting).toBe(47);
  });

  it('runs at most a fixed number of jobs of one client, and those of others at once', async () => {
    const { started, add, end } = fixture(Number.POSITIVE_INFINITY, 2);
    for (const n of range(4)) void add('many', `many ${n}`);
    void add('one', 'one');
    await flush();
    expect(started).toEqual(['many 0', 'many 1', 'one']);
    end('one');
    await flush();
    expect(started).toHaveLength(3);
    end('many 1');
    await flush();
    expect(started.at(-1)).toBe('many 2');
  });

  it('continues after a job that fails', async () => {
    const limit = createConcurrencyLimit(1);
    const failed = limit.run(() => Promise.reject(new Error('broken')));
    const next = limit.run(async () => 'next', 'other');
    await expect(failed).rejects.toThrow('broken');
    expect(await next).toBe('next');
  });
});

describe('throttle', () => {
  it('admits another client one tick after a client with many callers', async () => {
    let tick = () => {};
    const throttle = createThrottle(1, () => new Promise((resolve) => (tick = resolve)));
    const admitted: string[] = [];
    for (const n of range(50)) void throttle.acquire(() => 'many').then(() => admitted.push(`many ${n}`));
    void throttle.acquire(() => 'one').then(() => admitted.push('one'));
    for (let i = 0; i < 3; i++) {
      await flush();
      tick();
    }
    await flush();
    expect(admitted).toEqual(['many 0', 'many 1', 'one', 'many 2']);
    expect(throttle.waiting).toBe(47);
  });
});
