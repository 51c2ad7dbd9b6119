import { describe, expect, test } from 'vitest';
import { createDeadlineLimiter, DeadlineError } from '../../../src/concurrency/deadline.ts';
import type { Address } from '../../../src/protocol/hex.ts';
import { manualClock } from '../../support/clock.ts';

const ALICE: Address = `0x${'a1'.repeat(20)}`;
const BOB: Address = `0x${'b0'.repeat(20)}`;
const DEADLINE = 5000;

/** Running calls by name, completed by hand. */
function world() {
  const clock = manualClock();
  const remote = createDeadlineLimiter(clock, DEADLINE);
  const asked: string[] = [];
  const answers = new Map<string, (answer: unknown) => void>();
  const signals = new Map<string, AbortSignal>();
  const ask = (owner: Address, name: string, cancelled?: AbortSignal) => {
    const answer = remote.run(
      owner,
      (signal) => {
        asked.push(name);
        signals.set(name, signal);
        return new Promise((resolve) => answers.set(name, resolve));
      },
      cancelled,
    );
    answer.catch(() => {}); // some are checked later
    return answer;
  };
  const answer = async (name: string) => {
    await settle();
    answers.get(name)?.(name);
    await settle();
  };
  return { clock, remote, asked, signals, ask, answer };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('deadline limiter per owner', () => {
  test('runs four calls concurrently and queues the others in order', async () => {
    const { ask, asked, answer } = world();
    const all = ['1', '2', '3', '4', '5', '6', '7'].map((name) => ask(ALICE, name));
    await settle();
    expect(asked).toEqual(['1', '2', '3', '4']);
    await answer('3');
    expect(asked).toEqual(['1', '2', '3', '4', '5']);
    await answer('5');
    await answer('1');
    expect(asked).toEqual(['1', '2', '3', '4', '5', '6', '7']);
    for (const name of ['2', '4', '6', '7']) await answer(name);
    expect(await Promise.all(all)).toEqual(['1', '2', '3', '4', '5', '6', '7']);
  });

  test('skips a queued call whose caller has left', async () => {
    const { ask, asked, answer } = world();
    for (const name of ['1', '2', '3', '4']) void ask(ALICE, name);
    await settle();
    await answer('1');
    await answer('2');
    for (const name of ['5', '6', '7']) void ask(ALICE, name);
    await settle();
    expect(asked).toEqual(['1', '2', '3', '4', '5', '6']);
    for (const name of ['3', '4', '5', '6', '7']) await answer(name);
    for (const name of ['8', '9', '10', '11', '12']) void ask(ALICE, name);
    await settle();
    expect(asked.slice(7)).toEqual(['8', '9', '10', '11']); // all callers had left
  });

  test('does not delay calls of other owners', async () => {
    const { ask, asked } = world();
    for (const name of ['1', '2', '3', '4', '5']) void ask(ALICE, name);
    void ask(BOB, 'bob’s');
    await settle();
    expect(asked).toEqual(['1', '2', '3', '4', 'bob’s']);
  });

  test('releases the slot of a failed call', async () => {
    const { remote, ask, asked } = world();
    const failure = new Error('down');
    const failing = [0, 1, 2, 3].map(() => remote.run(ALICE, () => Promise.reject(failure)));
    void ask(ALICE, 'next');
    for (const each of failing) await expect(each).rejects.toBe(failure);
    await settle();
    expect(asked).toEqual(['next']);
    await expect(
      remote.run(ALICE, () => {
        throw failure;
      }),
    ).rejects.toBe(failure);
  });
});

describe('deadline', () => {
  test('rejects a call with an error that names it, aborts its signal and releases its slot', async () => {
    const { clock, ask, asked, signals } = world();
    const all = ['1', '2', '3', '4', '5'].map((name) => ask(ALICE, name));
    await settle();
    clock.advance(DEADLINE - 1);
    await settle();
    expect(asked).toHaveLength(4);
    clock.advance(1);
    await expect(all[0]).rejects.toThrow(DeadlineError);
    await expect(all[0]).rejects.toThrow('5000 ms');
    expect(signals.get('1')?.aborted).toBe(true);
    expect(signals.get('1')?.reason).toBeInstanceOf(DeadlineError);
    await settle();
    expect(asked).toEqual(['1', '2', '3', '4', '5']);
  });

  test('starts when a call is queued, not when it runs', async () => {
    const { clock, ask, answer } = world();
    for (const name of ['1', '2', '3', '4']) void ask(ALICE, name);
    const waiting = ask(ALICE, '5');
    await settle();
    clock.advance(DEADLINE - 1);
    await answer('1');
    clock.advance(DEADLINE - 1);
    await answer('5');
    expect(await waiting).toBe('5');
  });

  test('is cancelled by a result, and a late result has no effect', async () => {
    const { clock, ask, answer, signals } = world();
    const intime = ask(ALICE, 'in time');
    await settle();
    expect(clock.pending).toBe(1);
    await answer('in time');
    expect(await intime).toBe('in time');
    expect(clock.pending).toBe(0);
    clock.advance(2 * DEADLINE);
    expect(signals.get('in time')?.aborted).toBe(false);

    const late = ask(ALICE, 'late');
    await settle();
    clock.advance(DEADLINE);
    await answer('late');
    await expect(late).rejects.toThrow(DeadlineError);
  });
});

describe('aborted caller', () => {
  const reason = new Error('another has decided');

  test('rejects at once with the reason, and the call is aborted', async () => {
    const { clock, ask, signals } = world();
    const caller = new AbortController();
    const asking = ask(ALICE, '1', caller.signal);
    await settle();
    caller.abort(reason);
    await expect(asking).rejects.toBe(reason);
    expect(signals.get('1')?.reason).toBe(reason);
    expect(clock.pending).toBe(0);
  });

  test('is skipped when its slot is free', async () => {
    const { ask, asked, answer } = world();
    const caller = new AbortController();
    for (const name of ['1', '2', '3', '4']) void ask(ALICE, name);
    const waiting = ask(ALICE, '5', caller.signal);
    void ask(ALICE, '6');
    caller.abort(reason);
    await answer('1');
    await expect(waiting).rejects.toBe(reason);
    expect(asked).toEqual(['1', '2', '3', '4', '6']);
  });

  test('has no effect after the result, and no listener remains', async () => {
    const { ask, answer, signals } = world();
    const caller = new AbortController();
    const asking = ask(ALICE, '1', caller.signal);
    await settle();
    await answer('1');
    caller.abort(reason);
    expect(await asking).toBe('1');
    expect(signals.get('1')?.aborted).toBe(false);
  });
});
