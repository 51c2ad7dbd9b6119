import { describe, expect, it } from 'vitest';
import { createLimiterGuard } from '../../../src/http/limiter-guard.ts';
import type { ApiRequest } from '../../../src/http/message.ts';
import { tokenBuckets } from '../../../src/limits/token-buckets.ts';
import { manualClock } from '../../support/clock.ts';

const COST = { kind: 'read', tokens: 1, stream: true } as const;

/** A guard whose limiter releases streams with a function of the test. */
function fixture(release: () => void) {
  const failures: unknown[] = [];
  const controller = new AbortController();
  const request = { signal: controller.signal } as ApiRequest; // the members that are used
  const limiter = {
    take: () => ({ status: 'admitted' }) as const,
    open: () => ({ status: 'admitted', release }) as const,
  };
  const guard = createLimiterGuard(
    limiter,
    () => 'client',
    (failure) => failures.push(failure),
  );

  async function open(): Promise<AsyncIterator<string>> {
    async function* body() {
      yield 'event';
    }
    const response = await guard(request, COST, async () => ({ status: 200, headers: {}, body: body() }));
    return (response.body as AsyncIterable<string>)[Symbol.asyncIterator]();
  }
  const guardOf = (respond: Parameters<typeof guard>[2]) => guard(request, COST, respond);
  return { failures, controller, open, guardOf };
}

const settle = () => new Promise((resolve) => setTimeout(resolve));

/** Waits until all requests had their turn. */
async function settleAll(): Promise<void> {
  for (let i = 0; i < 100; i++) await settle();
}

describe('limiter guard: release of a stream', () => {
  it('is called once if the client disconnects and the mount ends the stream', async () => {
    let releases = 0;
    const { controller, open } = fixture(() => void releases++);
    const stream = await open();
    controller.abort();
    await stream.return?.();
    await stream.next();
    expect(releases).toBe(1);
  });

  it('is called for a client that has left before the limiter has responded', async () => {
    let releases = 0;
    const { controller, open } = fixture(() => void releases++);
    controller.abort();
    await open();
    expect(releases).toBe(1);
  });

  it('is called for a client that leaves while the response is prepared', async () => {
    let releases = 0;
    const { controller, guardOf } = fixture(() => void releases++);
    await guardOf(async () => {
      controller.abort();
      return { status: 200, headers: {}, body: (async function* () {})() };
    });
    expect(releases).toBe(1);
  });

  it('is called when a client leaves whose stream the mount never reads', async () => {
    let releases = 0;
    const { controller, open } = fixture(() => void releases++);
    await open();
    expect(releases).toBe(0);
    controller.abort();
    expect(releases).toBe(1);
  });

  it('is called after a response that fails or is no stream', async () => {
    let releases = 0;
    const { guardOf } = fixture(() => void releases++);
    await guardOf(async () => ({ status: 404, headers: {}, body: '{}' }));
    expect(releases).toBe(1);
    await expect(guardOf(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(releases).toBe(2);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('the counter is offline');
      },
    ],
    ['rejects', async () => Promise.reject(new Error('the counter is offline'))],
  ])('is reported as a failure if it %s, and the stream ends', async (_, release) => {
    const { failures, controller, open } = fixture(release);
    const stream = await open();
    expect(await stream.next()).toEqual({ done: false, value: 'event' });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    controller.abort();
    await settle();
    expect(failures).toEqual([new Error('the counter is offline')]);
  });
});

/** A guard with a limiter that counts the tokens of all clients. */
function counting() {
  let tokens = 0;
  const steps: number[] = [];
  const add = (count: number) => {
    tokens += count;
    steps.push(count);
  };
  const guard = createLimiterGuard(
    {
      take(_client, _kind, count = 1) {
        add(count);
        return { status: 'admitted' };
      },
      charge: (_client, _kind, count) => add(count),
      open: () => ({ status: 'admitted', release() {} }),
    },
    ({ remoteAddress = '' }) => remoteAddress,
    (failure) => expect.fail(String(failure)),
  );
  return { guard, steps, tokens: () => tokens };
}

const requestOf = (client: string): ApiRequest => ({
  method: 'GET',
  path: '/',
  query: '',
  body: { type: 'none' },
  remoteAddress: client,
  header: () => undefined,
});

const LONG = { kind: 'read', tokens: 8, rowsPerToken: 100, stream: false } as const;
const DONE = { status: 200, headers: {}, body: '[]' };

describe('limiter guard: cost of a request', () => {
  it.each([
    ['less than was taken', 150, [8, -6]],
    ['no rows', 0, [8, -7]],
    ['more than was taken', 1001, [8, 3]],
    ['what was taken', 800, [8]],
  ])('is settled after a read of %s', async (_, rows, expected) => {
    const { guard, steps } = counting();
    await guard(requestOf('a'), LONG, async (meter) => {
      meter.rows = rows;
      return DONE;
    });
    expect(steps).toEqual(expected);
  });

  it('includes the work of a request that fails or whose client leaves', async () => {
    const { guard, steps } = counting();
    const failed = guard(requestOf('a'), LONG, async (meter) => {
      meter.rows = 5000;
      throw new Error('the client has left');
    });
    await expect(failed).rejects.toThrow('the client has left');
    expect(steps).toEqual([8, 42]);
  });

  it('grows while a file is sent, and is settled at its end', async () => {
    const { guard, steps } = counting();
    const { body } = await guard(requestOf('a'), LONG, async (meter) => ({
      ...DONE,
      body: (async function* () {
        for (const rows of [400, 900, 1200]) {
          meter.rows = rows;
          yield 'rows';
        }
      })(),
    }));
    const chunks = (body as AsyncIterable<string>)[Symbol.asyncIterator](); // a stream was returned
    await chunks.next();
    expect(steps).toEqual([8]);
    await chunks.next();
    expect(steps).toEqual([8, 1]);
    await chunks.return?.();
    expect(steps).toEqual([8, 1]);
  });

  it('of an event stream with rows is settled when it begins, and grows while it is sent', async () => {
    const { guard, steps } = counting();
    const { body } = await guard(requestOf('a'), { ...LONG, stream: true }, async (meter) => ({
      ...DONE,
      body: (async function* () {
        yield 'hello';
        meter.rows = 250;
        yield 'rows';
      })(),
    }));
    expect(steps).toEqual([8, -7]);
    const events = (body as AsyncIterable<string>)[Symbol.asyncIterator](); // a stream was returned
    await events.next();
    await events.next();
    expect(steps).toEqual([8, -7, 2]);
  });

  it('has one token per part of the body, declared or counted', async () => {
    const cost = { kind: 'write', tokens: 1, bytesPerToken: 100, stream: false } as const;
    const { guard, steps } = counting();
    await guard(requestOf('a'), cost, async (meter) => {
      meter.bytes = 350; // in chunks, without a length
      return DONE;
    });
    expect(steps).toEqual([1, 3]);
    await guard(requestOf('a'), { ...cost, tokens: 4, bodyTokens: 3 }, async () => DONE);
    expect(steps).toEqual([1, 3, 4]);
  });
});

describe('limiter guard: long reads', () => {
  it('of one client run two at a time, and those of others and short reads at once', async () => {
    const { guard } = counting();
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const read = (client: string, cost: Parameters<typeof guard>[1] = LONG) =>
      guard(requestOf(client), cost, async () => {
        started.push(client);
        await new Promise<void>((resolve) => ends.push(resolve));
        return DONE;
      });
    for (let i = 0; i < 250; i++) void read('many');
    await settleAll();
    expect(started).toEqual(['many', 'many']);
    void read('one');
    void read('many', { ...LONG, tokens: 1 });
    await settle();
    expect(started.slice(2)).toEqual(['one', 'many']);
    ends[0]?.();
    await settle();
    expect(started.slice(4)).toEqual(['many']);
  });

  it.each([
    ['list', settle],
    ['stream', settle],
    ['list that ends before the turn of others', async () => {}],
  ])('that waited are rejected if those before them have left a debt: %s', async (kind, work) => {
    const limiter = tokenBuckets({ clock: manualClock(), reads: { perSecond: 1, burst: 100 } });
    const guard = createLimiterGuard(
      limiter,
      () => 'a',
      (failure) => expect.fail(String(failure)),
    );
    const cost = { ...LONG, stream: kind === 'stream' };
    let begun = 0;
    const read = () =>
      guard(requestOf('a'), cost, async (meter) => {
        begun++;
        await work();
        meter.rows = 12_000; // 120 tokens in place of eight
        return DONE;
      });
    const results = await Promise.allSettled(Array.from({ length: 12 }, read));
    expect(begun).toBe(2);
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual(Array.from({ length: 12 }, (_, n) => n < 2));
    // The rejected ones cost nothing: 140 tokens of debt, and eight for the next.
    expect(limiter.take('a', 'read', 8)).toEqual({ status: 'rejected', retryAfter: 148 });
  });

  it('send at most two parts of files of one client at the same time', async () => {
    const { guard } = counting();
    const started: string[] = [];
    const ends: (() => void)[] = [];
    async function* file(client: string) {
      started.push(client);
      await new Promise<void>((resolve) => ends.push(resolve));
      yield 'rows';
    }
    const open = (client: string) => guard(requestOf(client), LONG, async () => ({ ...DONE, body: file(client) }));
    const responses = await Promise.all(['many', 'many', 'many', 'many', 'one'].map(open));
    // Each is a stream.
    for (const { body } of responses) void (body as AsyncIterable<string>)[Symbol.asyncIterator]().next();
    await settle();
    expect(started).toEqual(['many', 'many', 'one']);
    ends[0]?.();
    await settle();
    expect(started.slice(3)).toEqual(['many']);
  });
});

describe('limiter guard: turns', () => {
  const READ = { kind: 'read', tokens: 1, stream: false } as const;
  const STORE_READ = { ...READ, isStoreRead: true };

  it('are taken by clients, with at most four requests per tick', async () => {
    const { guard } = counting();
    const started: string[] = [];
    const send = (client: string) =>
      guard(requestOf(client), { ...READ, kind: 'write' }, async () => {
        started.push(client);
        return DONE;
      });
    const all = [...Array.from({ length: 20 }, () => 'many'), 'one', 'other'].map(send);
    await Promise.resolve().then(() => {});
    expect(started.length).toBeLessThanOrEqual(4);
    await Promise.all(all);
    expect(started.indexOf('one')).toBeLessThan(8);
    expect(started.indexOf('other')).toBeLessThan(8);
    expect(started).toHaveLength(22);
  });

  it.each([
    ['reads of the store', STORE_READ, 8],
    ['other reads', READ, 20],
    ['writes', { ...READ, kind: 'write' } as const, 20],
  ])('of twenty %s of one client at once', async (_, cost, expected) => {
    const { guard } = counting();
    const started: string[] = [];
    const send = (client: string) =>
      guard(requestOf(client), cost, async () => {
        started.push(client);
        await new Promise(() => {});
        return DONE;
      });
    for (let i = 0; i < 20; i++) void send('many');
    void send('one');
    await settleAll();
    expect(started.filter((client) => client === 'many')).toHaveLength(expected);
    expect(started).toContain('one');
  });

  it('of a read that fails pass to the next one', async () => {
    const { guard } = counting();
    const failing = Array.from({ length: 12 }, () =>
      guard(requestOf('a'), STORE_READ, async () => {
        throw new Error('broken');
      }),
    );
    const results = await Promise.allSettled(failing);
    expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 'rejected'));
    await expect(guard(requestOf('a'), STORE_READ, async () => DONE)).resolves.toBe(DONE);
  });

  it('are no part of requests without a token, nor of clients that left before theirs', async () => {
    const guard = createLimiterGuard(
      tokenBuckets({ clock: manualClock(), reads: { perSecond: 1, burst: 6 } }),
      () => 'a',
      (failure) => expect.fail(String(failure)),
    );
    let begun = 0;
    let aborted = false;
    const request = {
      ...requestOf('a'),
      get aborted() {
        return aborted;
      },
    };
    const send = () =>
      guard(request, READ, async () => {
        begun++;
        aborted = true;
        return DONE;
      });
    const results = await Promise.allSettled(Array.from({ length: 1000 }, send));
    const reasons = results.flatMap((each) => (each.status === 'rejected' ? [(each.reason as Error).name] : []));
    expect(begun).toBeLessThanOrEqual(4);
    expect(reasons.filter((name) => name === 'AbortedError')).toHaveLength(6 - begun);
    expect(reasons).toHaveLength(1000 - begun);
  });

  it('are shared by interfaces with one limiter', async () => {
    const limiter = tokenBuckets({ clock: manualClock() });
    const started: string[] = [];
    for (const name of ['orders', 'accounts'])
      for (let i = 0; i < 5; i++) {
        const guard = createLimiterGuard(
          limiter,
          () => 'a',
          (failure) => expect.fail(String(failure)),
        );
        void guard(requestOf('a'), STORE_READ, async () => {
          started.push(name);
          return new Promise(() => {});
        });
      }
    await settleAll();
    expect(started).toHaveLength(8);
  });
});
