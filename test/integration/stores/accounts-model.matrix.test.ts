import fc from 'fast-check';
import type { AccountStore, ClaimedDelivery, NotificationType } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { postgresAccountStore } from 'intentbook/postgres';
import { sqliteAccountStore } from 'intentbook/sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { address, word } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import { temporarySchema } from '../../support/postgres.ts';
import { emptyAccountSchema } from './postgres-account-schema.ts';
import { temporaryFile } from './temporary.ts';

/** Small value ranges, so that random choices collide. */
const number = fc.nat(7);
const account = fc.constantFrom(address(1), address(2));
const type = fc.constantFrom<NotificationType>('order_filled', 'order_expired');
const second = fc.nat(20);

/** A store under test with its claimed deliveries. Positions of deliveries can have gaps, so they are not compared. */
interface Subject {
  readonly store: AccountStore;
  readonly claimed: ClaimedDelivery[];
}

interface Step {
  readonly label: string;
  readonly run: (subject: Subject) => Promise<unknown>;
}

const change = fc.oneof(
  fc.record({ type: fc.constant('notify' as const), n: number, of: type, at: second }),
  fc.record({ type: fc.constant('withdraw' as const), n: number }),
);

const stepOf = <T>(verb: string, arbitrary: fc.Arbitrary<T>, run: (value: T, subject: Subject) => Promise<unknown>) =>
  arbitrary.map(
    (value): Step => ({ label: `${verb} ${JSON.stringify(value)}`, run: (subject) => run(value, subject) }),
  );

const append = stepOf(
  'append',
  fc.record({ feed: fc.constantFrom('a', 'b'), changes: fc.array(change, { maxLength: 6 }), mark: fc.option(second) }),
  async ({ feed, changes, mark }, { store }) => {
    const after = await store.notifications.cursor(feed);
    return store.notifications.append({
      feed,
      after,
      through: (after ?? 0) + 1,
      marks: [{ key: String((mark ?? 0) % 3), value: mark === null ? null : String(mark) }],
      changes: changes.map((each) => {
        const id = `n${each.n}`;
        if (each.type === 'withdraw') return { type: 'withdraw', id };
        const body = JSON.stringify({ n: each.n, at: each.at });
        return {
          type: 'notify',
          notification: { id, account: address(1 + (each.n % 2)), type: each.of, at: each.at, body },
        };
      }),
    });
  },
);

const create = stepOf(
  'create',
  fc.record({
    n: number,
    nonce: number,
    quota: fc.integer({ min: 1, max: 4 }),
    now: second,
    pending: fc.boolean(),
    limits: fc.option(
      fc.record({
        since: second,
        perTarget: fc.nat(2),
        perChannel: fc.nat(4),
        perAccount: fc.nat(3),
        client: fc.constantFrom('a', 'b'),
        perClient: fc.nat(3),
        domain: fc.constantFrom('x', 'y'),
        perDomain: fc.nat(3),
      }),
      { nil: undefined },
    ),
  }),
  async ({ n, nonce, quota, now, pending, limits }, { store }) => {
    const owner = address(1 + (n % 2));
    const known = await Promise.all([1, 2].map((each) => store.subscriptions.list(address(each))));
    if (known.flat().some(({ id }) => id === `s${n}`)) return 'there';
    return store.subscriptions.create({
      subscription: {
        id: `s${n}`,
        account: owner,
        channel: n < 5 ? 'webhook' : 'email',
        target: `https://example.org/${n % 3}`,
        createdAt: now,
        types: n % 3 === 0 ? ['order_filled'] : ['order_expired', 'order_filled'],
        state: pending ? 'pending' : 'active',
        secret: n % 2 === 0 ? null : `secret ${n}`,
      },
      ...(pending ? { confirmation: { tokenHash: word(n), expiresAt: now + 5 } } : {}),
      nonce: { account: owner, nonce: String(nonce), expiresAt: now + 7 },
      ...(pending && limits !== undefined ? { invitation: limits } : {}),
      quota,
      now,
    });
  },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: append },
  { weight: 3, arbitrary: create },
  stepOf('confirm', fc.record({ n: number, now: second }), ({ n, now }, { store }) =>
    store.subscriptions.confirm({ tokenHash: word(n), now, ...(n % 2 === 0 ? { target: 'chat' } : {}) }),
  ),
  stepOf(
    'remove',
    fc.record({ n: number, account, now: second, nonce: number }),
    ({ n, now, nonce, ...by }, { store }) =>
      store.subscriptions.remove({
        id: `s${n}`,
        account: by.account,
        ...(nonce < 4 ? { nonce: { account: by.account, nonce: String(nonce), expiresAt: now + 7 } } : {}),
      }),
  ),
  {
    weight: 4,
    arbitrary: stepOf(
      'claim',
      fc.record(
        {
          now: second,
          limit: fc.integer({ min: 1, max: 4 }),
          maxDelay: fc.integer({ min: 4, max: 8 }),
          perAccount: fc.integer({ min: 1, max: 2 }),
          busyAccounts: fc.uniqueArray(account, { maxLength: 1 }),
          lanes: fc.uniqueArray(
            fc.record({
              channel: fc.constantFrom('webhook', 'email'),
              isReliable: fc.boolean(),
              limit: fc.integer({ min: 0, max: 2 }),
            }),
            { selector: ({ channel, isReliable }) => `${channel} ${isReliable}` },
          ),
        },
        { requiredKeys: ['now', 'limit'] },
      ),
      async (request, subject) => {
        const { claimed, next } = await subject.store.deliveries.claim({ ...request, until: request.now + 4 });
        subject.claimed.push(...claimed);
        return { claimed: claimed.map(({ seq: _, ...rest }) => rest), next };
      },
    ),
  },
  {
    weight: 4,
    arbitrary: stepOf(
      'settle',
      fc.record({
        n: fc.nat(30),
        as: fc.constantFrom('delivered', 'retry', 'released', 'dead', 'suspended'),
        at: second,
      }),
      async ({ n, as, at }, { store, claimed }) => {
        const one = claimed[n % Math.max(1, claimed.length)];
        if (one === undefined) return undefined;
        const outcome =
          as === 'delivered'
            ? ({ status: 'delivered' } as const)
            : as === 'retry'
              ? ({ status: 'retry', at, error: `error ${n}` } as const)
              : as === 'released'
                ? ({ status: 'released', at } as const)
                : ({ status: as, error: `error ${n}` } as const);
        return store.deliveries.recordResult({ seq: one.seq, claim: one.claim, outcome });
      },
    ),
  },
  stepOf('replay', fc.record({ n: fc.option(fc.nat(30)), now: second }), ({ n, now }, { store, claimed }) => {
    const seq = n === null ? undefined : claimed[n % Math.max(1, claimed.length)]?.seq;
    return store.deliveries.replay({ now, ...(seq === undefined ? {} : { seqs: [seq] }) });
  }),
  stepOf(
    'pruneNotifications',
    fc.record({ before: second, keep: fc.nat(6), limit: fc.integer({ min: 1, max: 5 }) }),
    async ({ before, keep, limit }, { store }) => {
      const through = Math.max(0, (await store.notifications.last()) - keep);
      const removed = await store.retention.pruneNotifications({ before, through, limit });
      return [removed, await store.retention.prunedThrough()];
    },
  ),
  // With a limit, stores may delete different nonces.
  stepOf('pruneNonces', fc.record({ now: second }), ({ now }, { store }) => store.retention.pruneNonces(now, 100)),
);

/** Reads the complete content of a store. */
async function everything({ store }: Subject) {
  const states = ['pending', 'delivered', 'dead', 'dropped'] as const;
  return {
    log: await store.notifications.after(0, 1000),
    last: await store.notifications.last(),
    cursors: await Promise.all(['a', 'b'].map((feed) => store.notifications.cursor(feed))),
    lists: await Promise.all([1, 2].map((n) => store.notifications.list({ account: address(n), limit: 100 }))),
    subscriptions: await Promise.all([1, 2].map((n) => store.subscriptions.list(address(n)))),
    marks: (await store.notifications.marks('a', ['0', '1', '2'])).sort((a, b) => a.key.localeCompare(b.key)),
    counts: await store.deliveries.count(),
    deliveries: await Promise.all(
      states.map(async (state) =>
        (await store.deliveries.list({ state, limit: 100 })).map(({ seq: _, ...delivery }) => delivery),
      ),
    ),
  };
}

const FACTOR = process.env['TEST_LONG'] === undefined ? 1 : 25;

/** Compares a store with the memory account store after random operations, each in an empty storage. */
async function compare(runs: number, withStore: (task: (store: AccountStore) => Promise<void>) => Promise<void>) {
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) =>
    withStore(async (store) => {
      const oracle: Subject = { store: memoryAccountStore(), claimed: [] };
      const subject: Subject = { store, claimed: [] };
      await oracle.store.open({ clock: manualClock() });
      for (const { label, run } of steps) expect(await run(subject), label).toEqual(await run(oracle));
      expect(await everything(subject)).toEqual(await everything(oracle));
    }),
  );
  await fc.assert(property, { numRuns: runs * FACTOR });
}

const place = await temporarySchema();
afterAll(async () => await place[Symbol.asyncDispose]());

describe('account store that matches the memory account store after random operations', () => {
  test('PostgreSQL', async () => {
    const { url, schema } = place;
    const store = postgresAccountStore({ url, schema, migrate: true, connections: 2, listen: false });
    await store.open({ clock: manualClock() });
    try {
      await compare(60, async (task) => {
        await emptyAccountSchema(place); // also after a failure, which is then shrunk
        await task(store);
      });
    } finally {
      await store.close();
    }
  });

  test('SQLite', async () => {
    await compare(100, async (task) => {
      using file = temporaryFile();
      const store = sqliteAccountStore({ path: file.path, synchronous: 'OFF' });
      await store.open({ clock: manualClock() });
      try {
        await task(store);
      } finally {
        await store.close();
      }
    });
  });
});
