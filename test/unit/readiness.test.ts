import { StoreError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { createReadinessCheck } from '../../src/readiness.ts';
import { manualClock } from '../support/clock.ts';

function fixture() {
  const clock = manualClock();
  const state = { checks: 0, failure: undefined as StoreError | undefined };
  const readiness = createReadinessCheck({
    clock,
    assertStarted: () => {},
    upstream: undefined,
    chain: { state: undefined, checks: () => ({ chain: 'off' }) },
    store: {
      async check() {
        state.checks++;
        if (state.failure !== undefined) throw state.failure;
      },
    },
  });
  const fail = () =>
    readiness.observe(Promise.reject(new StoreError('Unavailable', 'the disk is full'))).catch(() => {});
  return { clock, state, readiness, fail };
}

describe('readiness', () => {
  test('checks the store at most once a second', async () => {
    const { clock, state, readiness } = fixture();
    await Promise.all(Array.from({ length: 100 }, () => readiness.check()));
    expect(state.checks).toBe(1);
    clock.advance(1000);
    await readiness.check();
    expect(state.checks).toBe(2);
  });

  test('checks the store again after a second, also if the clock is set back', async () => {
    const { clock, state, readiness } = fixture();
    await readiness.check();
    clock.advance(1000);
    clock.jump(-1000);
    await readiness.check();
    expect(state.checks).toBe(2);
  });

  test('shows a recovered store at once', async () => {
    const { state, readiness } = fixture();
    state.failure = new StoreError('Unavailable', 'no connection');
    expect(await readiness.check()).toEqual({ ready: false, checks: { store: 'Unavailable', chain: 'off' } });
    state.failure = undefined;
    expect((await readiness.check()).ready).toBe(true);
  });

  test('is false while inserts fail, although the store responds', async () => {
    const { clock, readiness, fail } = fixture();
    for (let i = 0; i < 10; i++) {
      await fail();
      clock.advance(4000);
      expect((await readiness.check()).ready).toBe(false);
    }
  });

  test('is true again after an insert succeeds, or when none has failed for five seconds', async () => {
    const { clock, readiness, fail } = fixture();
    await fail();
    await readiness.observe(Promise.resolve());
    expect((await readiness.check()).ready).toBe(true);
    await fail();
    clock.advance(5000);
    expect((await readiness.check()).ready).toBe(true);
    await fail();
    clock.advance(5000);
    clock.jump(-5000);
    expect((await readiness.check()).ready).toBe(true);
  });
});
