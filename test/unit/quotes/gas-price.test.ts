import type { Clock } from 'intentbook';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createGasPrice } from '../../../src/quotes/gas-price.ts';
import { manualClock } from '../../support/clock.ts';

/** A reader over scripted calls of the host. */
function fixture(hasMonotonicTime = true) {
  const clock = manualClock();
  const given: Clock = hasMonotonicTime ? clock : { now: clock.now, after: clock.after };
  const failures: unknown[] = [];
  const calls: { resolve: (price: string | undefined) => void; reject: (failure: unknown) => void }[] = [];
  const read = createGasPrice(
    () => new Promise((resolve, reject) => calls.push({ resolve: resolve as never, reject })), // a price may be invalid
    { clock: given, timeout: 1000, lifetime: 300, onFailure: (failure) => void failures.push(failure) },
  );
  onTestFinished(() => expect(clock.pending).toBe(0));
  return { clock, failures, calls, read };
}

const settle = async () => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};
const SEVEN = { digits: 7n, scale: 0 };
const unknown = { code: 'ChainUnavailable', message: 'the gas price is unknown' };

describe('gas price', () => {
  test('is read once for concurrent quotes, and reused from the start of the call for its lifetime', async () => {
    const { clock, calls, read, failures } = fixture();
    const prices = [read(1000), read(1000)];
    clock.advance(299);
    calls[0]?.resolve('7');
    expect(await Promise.all([...prices, read(1000)])).toEqual([SEVEN, SEVEN, SEVEN]);
    expect(calls).toHaveLength(1);
    clock.advance(1);
    const next = read(1000);
    expect(calls).toHaveLength(2);
    calls[1]?.resolve('8');
    expect(await next).toEqual({ digits: 8n, scale: 0 });
    expect(failures).toEqual([]);
  });

  test('keeps its age when the clock is set back', async () => {
    const { clock, calls, read } = fixture();
    const first = read(1000);
    calls[0]?.resolve('7');
    await first;
    clock.advance(299);
    clock.jump(-299);
    await read(1000);
    expect(calls).toHaveLength(1);
    clock.advance(1);
    const second = read(1000);
    expect(calls).toHaveLength(2);
    calls[1]?.resolve('7');
    await second;
  });

  test('is read again after a clock without monotonic time was set back', async () => {
    const { clock, calls, read } = fixture(false);
    const first = read(1000);
    calls[0]?.resolve('7');
    await first;
    clock.jump(-1);
    const second = read(1000);
    expect(calls).toHaveLength(2);
    calls[1]?.resolve('7');
    await second;
  });

  test.each([
    ['invalid', 'many', new TypeError('the result of quotes.gasPrice must be a decimal number of wei')],
    ['missing', undefined, new TypeError('the result of quotes.gasPrice must be a decimal number of wei')],
  ])('that is %s is reported and read again', async (_, price, failure) => {
    const { calls, read, failures } = fixture();
    const first = read(1000);
    calls[0]?.resolve(price);
    expect(await first).toMatchObject(unknown);
    expect(failures).toEqual([failure]);
    const second = read(1000);
    calls[1]?.resolve('7');
    expect(await second).toEqual(SEVEN);
  });

  test('that fails is reported once', async () => {
    const { calls, read, failures } = fixture();
    const first = read(1000);
    calls[0]?.reject(new Error('offline'));
    expect(await first).toMatchObject(unknown);
    expect(failures).toEqual([new Error('offline')]);
  });

  test('is late for a caller with a short timeout, and unknown after the timeout of the call', async () => {
    const { clock, calls, read } = fixture();
    const [short, full] = [read(999), read(1000)];
    clock.advance(999);
    expect(await short).toMatchObject({ code: 'NoLiquidity', message: 'the gas price was not available in time' });
    clock.advance(1);
    expect(await full).toMatchObject(unknown);
    const again = read(5);
    expect(calls).toHaveLength(2); // a call without a response is abandoned
    clock.advance(5);
    await again;
  });

  test('is not awaited after the caller has left', async () => {
    const { read } = fixture();
    const controller = new AbortController();
    const waiting = read(1000, controller.signal);
    controller.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    await expect(read(1000, controller.signal)).rejects.toThrow('left');
    const listeners: string[] = [];
    const signal = {
      aborted: false,
      addEventListener: (name: string) => listeners.push(`+${name}`),
      removeEventListener: (name: string) => listeners.push(`-${name}`),
    } as unknown as AbortSignal; // the members that are used
    const { calls, read: readAgain } = fixture();
    const price = readAgain(1000, signal);
    calls[0]?.resolve('7');
    await price;
    await settle();
    expect(listeners).toEqual(['+abort', '-abort']);
  });
});
