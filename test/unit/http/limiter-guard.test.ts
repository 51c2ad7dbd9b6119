import { describe, expect, it } from 'vitest';
import { createLimiterGuard } from '../../../src/http/limiter-guard.ts';
import type { ApiRequest } from '../../../src/http/message.ts';

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
  return { failures, controller, open };
}

const settle = () => new Promise((resolve) => setTimeout(resolve));

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
