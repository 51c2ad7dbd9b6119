import assert from 'node:assert/strict';
import type { Store } from 'intentbook';
import type { Bench, Rule } from './harness.ts';
import { DOMAIN } from './harness.ts';
import { PLACED_AT, range } from './orders.ts';

/** Opens a store on a manual clock. */
async function onClock({ store, storage }: Bench): Promise<{ store: Store; advance: (ms: number) => void }> {
  await store.close();
  let now = PLACED_AT;
  const again = storage.connect();
  await again.open({ domain: DOMAIN, clock: { now: () => now, after: () => () => {} } });
  const advance = (ms: number) => {
    now += ms;
  };
  return { store: again, advance };
}

const SWEEP = 'sweep';

/** Each case closes the store that it opened on its own clock. */
function rule(name: string, run: (fixture: { store: Store; advance: (ms: number) => void }) => Promise<void>): Rule {
  return {
    name,
    async run(bench) {
      const fixture = await onClock(bench);
      try {
        await run(fixture);
      } finally {
        await fixture.store.close();
      }
    },
  };
}

export const LEASES: readonly Rule[] = [
  rule('grants a free lease to one holder', async ({ store }) => {
    assert.deepEqual(await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 }), {
      status: 'held',
      term: 1,
      expiresAt: PLACED_AT + 1000,
    });
    assert.deepEqual(await store.leases.acquire({ name: SWEEP, holder: 'b', ttl: 9000 }), {
      status: 'taken',
      holder: 'a',
      expiresAt: PLACED_AT + 1000,
    });
  }),
  rule('keeps leases of other names apart', async ({ store }) => {
    await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 });
    assert.equal((await store.leases.acquire({ name: 'delivery', holder: 'b', ttl: 1000 })).status, 'held');
  }),
  rule('renews a lease for its holder in the same term', async ({ store, advance }) => {
    await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 });
    advance(900);
    assert.deepEqual(await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 }), {
      status: 'held',
      term: 1,
      expiresAt: PLACED_AT + 1900,
    });
    advance(999);
    assert.equal((await store.leases.acquire({ name: SWEEP, holder: 'b', ttl: 1000 })).status, 'taken');
  }),
  rule('grants an expired lease from its last millisecond on, in a new term', async ({ store, advance }) => {
    await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 });
    advance(1000);
    const taken = await store.leases.acquire({ name: SWEEP, holder: 'b', ttl: 1000 });
    assert.deepEqual(taken, { status: 'held', term: 2, expiresAt: PLACED_AT + 2000 });
    assert.equal((await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 })).status, 'taken');
  }),
  rule('renews an expired lease in its term if no other holder has taken it', async ({ store, advance }) => {
    await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 });
    advance(60_000);
    const renewed = await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 });
    assert.deepEqual(renewed, { status: 'held', term: 1, expiresAt: PLACED_AT + 61_000 });
  }),
  rule('frees a released lease at once', async ({ store }) => {
    await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 });
    await store.leases.release({ name: SWEEP, holder: 'a' });
    const taken = await store.leases.acquire({ name: SWEEP, holder: 'b', ttl: 1000 });
    assert.deepEqual([taken.status, taken.status === 'held' && taken.term], ['held', 2]);
  }),
  rule('ignores the release of a lease of another holder or of an unknown lease', async ({ store }) => {
    await store.leases.release({ name: SWEEP, holder: 'b' });
    await store.leases.acquire({ name: SWEEP, holder: 'a', ttl: 1000 });
    await store.leases.release({ name: SWEEP, holder: 'b' });
    assert.equal((await store.leases.acquire({ name: SWEEP, holder: 'b', ttl: 1000 })).status, 'taken');
  }),
  {
    name: 'grants a lease to exactly one of several concurrent callers',
    async run({ writers }) {
      const outcomes = await Promise.all(
        range(20).map(
          async (n) =>
            await writers[n % writers.length]?.leases.acquire({ name: SWEEP, holder: `holder ${n}`, ttl: 60_000 }),
        ),
      );
      assert.equal(outcomes.filter((outcome) => outcome?.status === 'held').length, 1);
    },
  },
];
