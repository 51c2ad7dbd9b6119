import { describe, expect, test } from 'vitest';
import {
  AbortedError,
  createDeadlineLimiter,
  DeadlineError,
  QueueFullError,
  type QueueOptions,
} from '../../../src/concurrency/abort.ts';
import type { Address } from '../../../src/protocol/hex.ts';
import { manualClock } from '../../support/clock.ts';

const ALICE: Address = `0x${'a1'.repeat(20)}`;
const BOB: Address = `0x${'b0'.repeat(20)}`;
const DEADLINE = 5000;

/** Running calls by name, completed by hand. */
function fixture() {
  const clock = manualClock();
  const remote = createDeadlineLimiter(clock, DEADLINE);
  const recordedCalls: string[] = [];
  const answers = new Map<string, (answer: unknown) => void>();
  const signals = new Map<string, AbortSignal>();
  const start = (owner: Address, name: string, cancelled?: AbortSignal, options: QueueOptions = {}) => {
    const answer = remote.run(
      owner,
      (signal) => {
        recordedCalls.push(name);
        signals.set(name, signal);
        return new Promise((resolve) => answers.set(name, resolve));
      },
      cancelled === undefined ? options : { ...options, cancelled },
    );
    answer.catch(() => {}); // some are checked later
    return answer;
  };
  const answer = async (name: string) => {
    await settle();
    answers.get(name)?.(name);
    await settle();
  };
  return { clock, remote, recordedCalls, signals, start, answer };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('deadline limiter per owner', () => {
  test('runs four calls concurrently and queues the others in order', async () => {
    const { start, recordedCalls, answer } = fixture();
    const all = ['1', '2', '3', '4', '5', '6', '7'].map((name) => start(ALICE, name));
    await settle();
    expect(recordedCalls).toEqual(['1', '2', '3', '4']);
    await answer('3');
    expect(recordedCalls).toEqual(['1', '2', '3', '4', '5']);
    await answer('5');
    await answer('1');
    expect(recordedCalls).toEqual(['1', '2', '3', '4', '5', '6', '7']);
    for (const name of ['2', '4', '6', '7']) await answer(name);
    expect(await Promise.all(all)).toEqual(['1', '2', '3', '4', '5', '6', '7']);
  });

  test('skips a queued call whose caller has left', async () => {
    const { start, recordedCalls, answer } = fixture();
    for (const name of ['1', '2', '3', '4']) void start(ALICE, name);
    await settle();
    await answer('1');
    await answer('2');
    for (const name of ['5', '6', '7']) void start(ALICE, name);
    await settle();
    expect(recordedCalls).toEqual(['1', '2', '3', '4', '5', '6']);
    for (const name of ['3', '4', '5', '6', '7']) await answer(name);
    for (const name of ['8', '9', '10', '11', '12']) void start(ALICE, name);
    await settle();
    expect(recordedCalls.slice(7)).toEqual(['8', '9', '10', '11']); // all callers had left
  });

  test('does not delay calls of other owners', async () => {
    const { start, recordedCalls } = fixture();
    for (const name of ['1', '2', '3', '4', '5']) void start(ALICE, name);
    void start(BOB, 'bob’s');
    await settle();
    expect(recordedCalls).toEqual(['1', '2', '3', '4', 'bob’s']);
  });

  test('releases the slot of a failed call', async () => {
    const { remote, start, recordedCalls } = fixture();
    const failure = new Error('down');
    const failing = [0, 1, 2, 3].map(() => remote.run(ALICE, () => Promise.reject(failure)));
    void start(ALICE, 'next');
    for (const each of failing) await expect(each).rejects.toBe(failure);
    await settle();
    expect(recordedCalls).toEqual(['next']);
    await expect(
      remote.run(ALICE, () => {
        throw failure;
      }),
    ).rejects.toBe(failure);
  });
});

describe('deadline', () => {
  test('rejects a call with an error that names it, aborts its signal and releases its slot', async () => {
    const { clock, start, recordedCalls, signals } = fixture();
    const all = ['1', '2', '3', '4', '5'].map((name) => start(ALICE, name));
    await settle();
    clock.advance(DEADLINE - 1);
    await settle();
    expect(recordedCalls).toHaveLength(4);
    clock.advance(1);
    await expect(all[0]).rejects.toThrow(DeadlineError);
    await expect(all[0]).rejects.toThrow('5000 ms');
    expect(signals.get('1')?.aborted).toBe(true);
    expect(signals.get('1')?.reason).toBeInstanceOf(DeadlineError);
    await settle();
    expect(recordedCalls).toEqual(['1', '2', '3', '4', '5']);
  });

  test('starts when a call runs, not when it is queued', async () => {
    const { clock, start, answer } = fixture();
    for (const name of ['1', '2', '3', '4']) void start(ALICE, name);
    const waiting = start(ALICE, '5');
    await settle();
    clock.advance(DEADLINE - 1);
    await answer('1');
    clock.advance(DEADLINE - 1);
    await answer('5');
    expect(await waiting).toBe('5');
  });

  test('rejects a cancelled call that waits at once', async () => {
    const { start, recordedCalls, answer } = fixture();
    for (const name of ['1', '2', '3', '4']) void start(ALICE, name);
    const controller = new AbortController();
    const waiting = start(ALICE, '5', controller.signal);
    void start(ALICE, '6');
    await settle();
    controller.abort(new Error('not needed'));
    await expect(waiting).rejects.toThrow('not needed');
    await answer('1');
    expect(recordedCalls).toEqual(['1', '2', '3', '4', '6']);
  });

  test('is cancelled by a result, and a late result has no effect', async () => {
    const { clock, start, answer, signals } = fixture();
    const intime = start(ALICE, 'in time');
    await settle();
    expect(clock.pending).toBe(1);
    await answer('in time');
    expect(await intime).toBe('in time');
    expect(clock.pending).toBe(0);
    clock.advance(2 * DEADLINE);
    expect(signals.get('in time')?.aborted).toBe(false);

    const late = start(ALICE, 'late');
    await settle();
    clock.advance(DEADLINE);
    await answer('late');
    await expect(late).rejects.toThrow(DeadlineError);
  });
});

describe('bounded queue', () => {
  test('rejects a call above the maximum number of waiting calls', async () => {
    const { start, recordedCalls, answer } = fixture();
    const limits = { maxWaiting: 1 };
    for (const name of ['1', '2', '3', '4', '5']) void start(ALICE, name, undefined, limits);
    await expect(start(ALICE, '6', undefined, limits)).rejects.toThrow(QueueFullError);
    void start(BOB, 'bob’s', undefined, limits);
    await answer('1');
    void start(ALICE, '7', undefined, limits);
    await answer('2');
    expect(recordedCalls).toEqual(['1', '2', '3', '4', 'bob’s', '5', '7']);
  });

  test('rejects a call that has waited too long, and its slot goes to the next call', async () => {
    const { clock, start, recordedCalls, answer } = fixture();
    for (const name of ['1', '2', '3', '4']) void start(ALICE, name);
    const impatient = start(ALICE, '5', undefined, { maxWait: 100 });
    void start(ALICE, '6', undefined, { maxWait: 101 });
    await settle();
    clock.advance(100);
    await expect(impatient).rejects.toThrow(QueueFullError);
    await answer('1');
    expect(recordedCalls).toEqual(['1', '2', '3', '4', '6']);
    clock.advance(1000); // the wait of a call that runs has ended
    await answer('6');
    await answer('2');
    expect(recordedCalls).toEqual(['1', '2', '3', '4', '6']);
  });

  test('skips a waiting call whose caller has disconnected', async () => {
    const { start, recordedCalls, answer } = fixture();
    const caller = { aborted: false };
    for (const name of ['1', '2', '3', '4']) void start(ALICE, name);
    const waiting = start(ALICE, '5', undefined, { caller });
    void start(ALICE, '6');
    caller.aborted = true;
    await answer('1');
    await expect(waiting).rejects.toThrow(AbortedError);
    expect(recordedCalls).toEqual(['1', '2', '3', '4', '6']);
  });
});

describe('aborted caller', () => {
  const reason = new Error('another has decided');

  test('rejects at once with the reason, and the call is aborted', async () => {
    const { clock, start, signals } = fixture();
    const caller = new AbortController();
    const running = start(ALICE, '1', caller.signal);
    await settle();
    caller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(signals.get('1')?.reason).toBe(reason);
    expect(clock.pending).toBe(0);
  });

  test('is skipped when its slot is free', async () => {
    const { start, recordedCalls, answer } = fixture();
    const caller = new AbortController();
    for (const name of ['1', '2', '3', '4']) void start(ALICE, name);
    const waiting = start(ALICE, '5', caller.signal);
    void start(ALICE, '6');
    caller.abort(reason);
    await answer('1');
    await expect(waiting).rejects.toBe(reason);
    expect(recordedCalls).toEqual(['1', '2', '3', '4', '6']);
  });

  test('has no effect after the result, and no listener remains', async () => {
    const { start, answer, signals } = fixture();
    const caller = new AbortController();
    const running = start(ALICE, '1', caller.signal);
    await settle();
    await answer('1');
    caller.abort(reason);
    expect(await running).toBe('1');
    expect(signals.get('1')?.aborted).toBe(false);
  });
});
