import type { Store } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { createExpirySweep } from '../../../src/orders/expiry.ts';
// Loaded in advance: the sweep imports it on first use, which takes longer than some ticks.
import '../../../src/orders/retention.ts';
import type { PruneObservation } from '../../../src/orders/retention-options.ts';
import { manualClock } from '../../support/clock.ts';

const START = Date.UTC(2026, 0, 1);
const NOW = START / 1000;
const INTERVAL = 2000;
const HOUR = 3_600_000;
const STEP = 128;

/** Creates a sweep over a store with expired and old orders, and records its actions. */
function fixture({
  many = false,
  catchingUp = false,
  monotonic = false,
  retention = undefined as number | undefined,
} = {}) {
  const clock = manualClock(START);
  if (!monotonic) delete clock.monotonic;
  const state = {
    expired: 0,
    early: 0,
    old: 0,
    held: true,
    catchingUp,
    blockTime: undefined as number | undefined,
    failure: undefined as Error | undefined,
  };
  const done: string[] = [];
  const failures: unknown[] = [];
  const pruned: PruneObservation[] = [];
  const take = (kind: 'expired' | 'early' | 'old', most: number) => {
    const taken = Math.min(state[kind], most);
    state[kind] -= taken;
    return taken;
  };
  const fail = () => {
    if (state.failure !== undefined) throw state.failure;
  };
  const leases: Store['leases'] = {
    async acquire({ name, holder, ttl }) {
      done.push(`acquire ${name} for ${holder}, ${ttl} ms`);
      return state.held
        ? { status: 'held', term: 1, expiresAt: START + ttl }
        : { status: 'taken', holder: 'another', expiresAt: START };
    },
    async release({ name, holder }) {
      done.push(`release ${name} of ${holder}`);
      fail();
    },
  };
  const orders: Pick<Store['orders'], 'expire' | 'reinstate' | 'prune'> = {
    async reinstate({ validFrom, limit }) {
      const taken = take('early', limit);
      if (taken > 0) done.push(`reinstate ${taken} valid at ${validFrom - NOW}`);
      return taken;
    },
    async expire(now, most) {
      fail();
      const taken = take('expired', most);
      done.push(`expire ${taken} at ${now - NOW}`);
      return taken;
    },
    async prune({ before, limit, tombstonesBefore }) {
      const taken = take('old', limit);
      const tombstones = tombstonesBefore === undefined ? '' : `, tombstones before ${tombstonesBefore - NOW}`;
      done.push(`prune ${taken} before ${before - NOW}${tombstones}`);
      return taken;
    },
  };
  const sweep = createExpirySweep({
    // The members that the sweep uses.
    store: { orders, leases, traits: { writers: many ? 'many' : 'single' } } as Store,
    clock,
    interval: INTERVAL,
    holder: 'me',
    retention: retention === undefined ? undefined : { orders: retention },
    isCatchingUp: () => state.catchingUp,
    getBlockTime: async () => state.blockTime,
    bypassCache: () => (isChanged) => void (isChanged && done.push('pruned')),
    pruneObserver: { hasListeners: () => true, notify: (observation) => pruned.push(observation) },
    wake: () => done.push('wake'),
    onFailure: (failure) => failures.push(failure),
  });
  return {
    clock,
    state,
    failures,
    pruned,
    sweep,
    /** Returns the actions since the last call. */
    async done() {
      for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
      return done.splice(0);
    },
  };
}

const ACQUIRE = 'acquire expiry for me, 20000 ms';

describe('expiry sweep', () => {
  test('starts at once and repeats at each interval of the clock', async () => {
    const { sweep, clock, done } = fixture();
    expect(await done()).toEqual([]);
    sweep.start();
    expect(await done()).toEqual(['expire 0 at 0']);
    clock.advance(INTERVAL - 1);
    expect(await done()).toEqual([]);
    clock.advance(1);
    expect(await done()).toEqual(['expire 0 at 2']);
    clock.advance(INTERVAL);
    expect(await done()).toEqual(['expire 0 at 4']);
  });

  test('takes as many steps as necessary and emits each expiry', async () => {
    const { sweep, state, done } = fixture();
    state.expired = 2 * STEP + 1;
    sweep.start();
    expect(await done()).toEqual(['expire 128 at 0', 'wake', 'expire 128 at 0', 'wake', 'expire 1 at 0', 'wake']);
  });

  test('runs again after a full step', async () => {
    const { sweep, state, done } = fixture();
    state.expired = STEP;
    sweep.start();
    expect(await done()).toEqual(['expire 128 at 0', 'wake', 'expire 0 at 0']);
  });

  test('waits while the chain is indexed, and repeats', async () => {
    const { sweep, state, clock, done } = fixture({ catchingUp: true, many: true, retention: 0 });
    sweep.start();
    expect(await done()).toEqual([]);
    state.catchingUp = false;
    clock.advance(INTERVAL);
    expect(await done()).toEqual([ACQUIRE, 'expire 0 at 2', 'prune 0 before 2']);
  });

  test('continues after a failure that is reported to the host', async () => {
    const { sweep, state, clock, failures, done } = fixture();
    state.failure = new Error('the disk is full');
    sweep.start();
    expect(await done()).toEqual(['wake']); // the step may be stored
    expect(failures).toEqual([state.failure]);
    state.failure = undefined;
    clock.advance(INTERVAL);
    expect(await done()).toEqual(['expire 0 at 2']);
    expect(failures).toHaveLength(1);
  });
});

describe('expiry sweep and a wrong clock', () => {
  test('records nothing for a minute after a jump of the clock, in either direction', async () => {
    const { sweep, clock, done } = fixture({ monotonic: true });
    sweep.start();
    expect(await done()).toEqual(['expire 0 at 0']);
    for (const jump of [400 * 24 * HOUR, -400 * 24 * HOUR]) {
      clock.jump(jump);
      for (let passed = 0; passed < 60_000; passed += INTERVAL) {
        clock.advance(INTERVAL);
        expect(await done()).toEqual([]);
      }
      clock.advance(INTERVAL);
      expect(await done()).toHaveLength(1);
    }
  });

  test('stops between two steps when the clock jumps', async () => {
    const { sweep, state, clock, done } = fixture({ monotonic: true });
    state.expired = 5 * STEP;
    sweep.start();
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    const left = state.expired;
    expect(left).toBeGreaterThan(0);
    clock.jump(2 * HOUR);
    await done();
    expect(state.expired).toBe(left);
  });

  test('reverts recorded expiries of orders that are valid for at least another minute', async () => {
    const { sweep, state, done } = fixture();
    state.early = STEP + 1;
    sweep.start();
    expect(await done()).toEqual([
      'reinstate 128 valid at 60',
      'wake',
      'reinstate 1 valid at 60',
      'wake',
      'expire 0 at 0',
    ]);
  });

  test('deletes nothing until the clock was steady for ten minutes', async () => {
    const { sweep, state, clock, done } = fixture({ monotonic: true, retention: 0 });
    state.old = 1;
    sweep.start();
    await done();
    const wait = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += INTERVAL) {
        clock.advance(INTERVAL);
        await done();
      }
    };
    await wait(9 * 60_000);
    clock.jump(400 * 24 * HOUR);
    await wait(10 * 60_000);
    expect(state.old).toBe(1);
    await wait(INTERVAL);
    expect(state.old).toBe(0);
  });

  test('deletes nothing that is recent by the time of the newest block, and no newer tombstone', async () => {
    const { sweep, state, done } = fixture({ retention: 100 });
    state.blockTime = NOW - 5000;
    sweep.start();
    expect((await done()).at(-1)).toBe('prune 0 before -5100, tombstones before -5100');
  });
});

describe('expiry sweep stop', () => {
  test('ends all work and clears its timers', async () => {
    const { sweep, clock, done } = fixture();
    sweep.start();
    await done();
    expect(clock.pending).toBe(1);
    await sweep.stop();
    expect(clock.pending).toBe(0);
    clock.advance(10 * INTERVAL);
    expect(await done()).toEqual([]);
  });

  test('waits for the running step and leaves the rest for the next start', async () => {
    const { sweep, state, clock, done } = fixture({ retention: 0 });
    state.expired = 5 * STEP;
    sweep.start();
    while (state.expired === 5 * STEP) await Promise.resolve();
    await sweep.stop();
    expect(state.expired).toBe(4 * STEP);
    expect(clock.pending).toBe(0);
    expect(await done()).toEqual(['expire 128 at 0', 'wake']);
    sweep.start();
    await done();
    expect(state.expired).toBe(0);
  });
});

describe('expiry sweep among several writers', () => {
  test('runs in the holder of the lease for two intervals, and releases the lease on stop', async () => {
    const { sweep, state, clock, done } = fixture({ many: true });
    state.held = false;
    sweep.start();
    expect(await done()).toEqual([ACQUIRE]);
    state.held = true;
    clock.advance(INTERVAL);
    expect(await done()).toEqual([ACQUIRE, 'expire 0 at 2']);
    await sweep.stop();
    expect(await done()).toEqual(['release expiry of me']);
  });

  test('reports a lease that cannot be released as a failure and stops', async () => {
    const { sweep, state, failures, done } = fixture({ many: true });
    sweep.start();
    await done();
    state.failure = new Error('gone');
    await sweep.stop();
    expect(failures).toEqual([state.failure]);
  });

  test('needs no lease with a single writer', async () => {
    const { sweep, done } = fixture();
    sweep.start();
    expect(await done()).toEqual(['expire 0 at 0']);
    await sweep.stop();
    expect(await done()).toEqual([]);
  });
});

describe('order retention sweep', () => {
  test('removes orders every hour in steps and emits what it removed', async () => {
    const { sweep, state, clock, done } = fixture({ retention: 100 });
    state.old = STEP + 1;
    sweep.start();
    expect(await done()).toEqual(['expire 0 at 0', 'prune 128 before -100', 'pruned', 'prune 1 before -100', 'pruned']);
    clock.advance(INTERVAL);
    expect(await done()).toEqual(['expire 0 at 2']);
    clock.advance(HOUR - INTERVAL);
    await done();
    state.old = 0;
    clock.advance(HOUR);
    expect((await done()).filter((what) => what.startsWith('prune'))).toEqual(['prune 0 before 7100']);
  });

  test.each([
    ['does not run within the hour', HOUR - 1, false],
    ['runs an hour after the last run', HOUR, true],
    ['runs after the clock was set back', -HOUR, true],
  ])('%s', async (_, passed, removed) => {
    const { sweep, clock, done } = fixture({ retention: 0 });
    sweep.start();
    await done();
    clock.advance(INTERVAL);
    clock.set(START + passed); // as the sweep reads it, at its own time
    expect((await done()).some((what) => what.startsWith('prune'))).toBe(removed);
  });

  test('keeps orders forever by default', async () => {
    const { sweep, state, done } = fixture();
    state.old = 7;
    sweep.start();
    expect(await done()).toEqual(['expire 0 at 0']);
  });

  test('leaves the rest for the next run when it stops', async () => {
    const { sweep, state, done } = fixture({ retention: 0 });
    state.old = 5 * STEP;
    sweep.start();
    while (state.old === 5 * STEP) await new Promise((resolve) => setImmediate(resolve));
    await sweep.stop();
    await done();
    expect(state.old).toBe(4 * STEP);
  });
});
