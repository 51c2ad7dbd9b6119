import assert from 'node:assert/strict';
import type { AccountStore, NewSubscription, Subscription } from 'intentbook';
import { ALICE, BOB, range, word } from '../orders.ts';
import type { AccountRule } from './harness.ts';
import { AT } from './harness.ts';
import { notification, notify, step } from './notifications.ts';

/** Returns the suite's n-th subscription: a webhook of Alice for fills. */
export function subscription(n: number, changes: Partial<Subscription> = {}): Subscription {
  return {
    id: `subscription-${n}`,
    account: ALICE,
    channel: 'webhook',
    target: `https://example.org/${n}`,
    types: ['order_filled'],
    state: 'active',
    secret: `secret ${n}`,
    createdAt: AT + n,
    ...changes,
  };
}

function request(n: number, changes: Partial<Subscription> = {}, more: Partial<NewSubscription> = {}): NewSubscription {
  const made = subscription(n, changes);
  const nonce = { account: made.account, nonce: String(n), expiresAt: AT + 1000 };
  return { subscription: made, nonce, quota: 100, now: AT, ...more };
}

/** Inserts subscriptions that must be accepted. */
export async function subscribe(store: AccountStore, ...made: Subscription[]): Promise<void> {
  for (const each of made) {
    const nonce = { account: each.account, nonce: each.id.replace(/\D/g, ''), expiresAt: AT + 1000 };
    const outcome = await store.subscriptions.create({ subscription: each, nonce, quota: 100, now: AT });
    assert.deepEqual(outcome, { status: 'created' });
  }
}

const pending = (n: number, expiresAt: number) =>
  request(n, { state: 'pending', secret: null }, { confirmation: { tokenHash: word(n), expiresAt } });

const idsOf = async (store: AccountStore, account = ALICE) =>
  (await store.subscriptions.list(account)).map(({ id }) => id);

export const SUBSCRIPTIONS: readonly AccountRule[] = [
  {
    name: 'stores a subscription unchanged and lists the subscriptions of an account, oldest first',
    async run({ store }) {
      const odd = subscription(1, { target: '{"endpoint":"x","keys":{}}', secret: null, channel: 'webpush' });
      const many = subscription(2, { types: ['order_cancelled', 'order_filled'] });
      await subscribe(store, odd, many, subscription(3, { account: BOB }));
      assert.deepEqual(await store.subscriptions.list(ALICE), [odd, many]);
      assert.deepEqual(await store.subscriptions.list(BOB), [subscription(3, { account: BOB })]);
    },
  },
  {
    name: 'replaces the types of an active subscription of the same account, channel and target',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2));
      const types = ['order_expired', 'order_cancelled'] as const;
      const { target } = subscription(1);
      const again = request(3, { target, types }, { quota: 2 });
      const updated = subscription(1, { types });
      assert.deepEqual(await store.subscriptions.create(again), { status: 'updated', subscription: updated });
      assert.deepEqual(await store.subscriptions.list(ALICE), [updated, subscription(2)]);
      assert.deepEqual(await store.subscriptions.create(again), { status: 'used' });
      for (const [n, changes] of [{ account: BOB }, { channel: 'other' }, { target: `${target}/` }].entries())
        assert.deepEqual(await store.subscriptions.create(request(n + 4, { target, ...changes })), {
          status: 'created',
        });
      // The target of these is not known before the confirmation.
      for (const n of [7, 8]) {
        const confirmation = { tokenHash: word(n), expiresAt: AT + 10 };
        const made = request(n, { target: '', channel: 'chat', state: 'pending', types }, { confirmation });
        assert.deepEqual(await store.subscriptions.create(made), { status: 'created' });
      }
    },
  },
  {
    name: 'keeps one subscription when a second one of the same target is confirmed',
    async run({ store }) {
      const types = ['order_expired'] as const;
      const chat = { target: '', channel: 'chat', state: 'pending' } as const;
      for (const [n, changes] of [{ types: ['order_filled'] as const }, { types }].entries()) {
        const confirmation = { tokenHash: word(n), expiresAt: AT + 10 };
        await store.subscriptions.create(request(n, { ...chat, ...changes }, { confirmation }));
      }
      const first = await store.subscriptions.confirm({ tokenHash: word(0), now: AT, target: '4711' });
      assert.deepEqual([first?.id, first?.types], ['subscription-0', ['order_filled']]);
      const second = await store.subscriptions.confirm({ tokenHash: word(1), now: AT, target: '4711' });
      assert.deepEqual(second, { ...first, types });
      assert.deepEqual(await store.subscriptions.list(ALICE), [second]);
    },
  },
  {
    name: 'confirms no subscription whose target is not known',
    async run({ store }) {
      const confirmation = { tokenHash: word(1), expiresAt: AT + 10 };
      await store.subscriptions.create(request(1, { target: '', state: 'pending' }, { confirmation }));
      for (const target of [{}, { target: '' }])
        assert.equal(await store.subscriptions.confirm({ tokenHash: word(1), now: AT, ...target }), undefined);
      assert.equal((await store.subscriptions.list(ALICE))[0]?.state, 'pending');
      const confirmed = await store.subscriptions.confirm({ tokenHash: word(1), now: AT, target: '4711' });
      assert.deepEqual([confirmed?.state, confirmed?.target], ['active', '4711']);
    },
  },
  {
    name: 'replaces a suspended subscription of the same target',
    async run({ store }) {
      await subscribe(store, subscription(1));
      const suspend = async () => {
        const changes = notify(notification((await store.notifications.last()) + 1));
        await step(store, changes);
        const now = AT + 1_000_000;
        const [one] = (await store.deliveries.claim({ now, until: now + 9, limit: 9 })).claimed;
        assert.ok(one);
        const outcome = { status: 'suspended', error: 'responded with 403' } as const;
        await store.deliveries.recordResult({ seq: one.seq, claim: one.claim, outcome });
      };
      await suspend();
      const { target } = subscription(1);
      assert.deepEqual(await store.subscriptions.create(request(2, { target }, { quota: 1 })), { status: 'created' });
      assert.deepEqual(await store.subscriptions.list(ALICE), [subscription(2, { target })]);
      assert.deepEqual(await store.deliveries.count(), { pending: 0, dead: 0, suspended: 0 });
      const confirmation = { tokenHash: word(3), expiresAt: AT + 10 };
      await store.subscriptions.create(request(3, { target: '', state: 'pending' }, { confirmation }));
      await suspend();
      assert.equal((await store.subscriptions.confirm({ tokenHash: word(3), now: AT, target }))?.id, 'subscription-3');
      assert.deepEqual(await idsOf(store), ['subscription-3']);
    },
  },
  {
    name: 'accepts a nonce once per account until it is deleted',
    async run({ store }) {
      await store.subscriptions.create(request(1));
      const again = { nonce: { account: ALICE, nonce: '1', expiresAt: AT + 5000 } };
      assert.deepEqual(await store.subscriptions.create(request(2, {}, again)), { status: 'used' });
      assert.deepEqual(await store.subscriptions.create(request(2, {}, { ...again, now: AT + 1000 })), {
        status: 'used',
      });
      assert.deepEqual(await idsOf(store), ['subscription-1']);
      const bobs = request(3, { account: BOB }, { nonce: { account: BOB, nonce: '1', expiresAt: AT + 1000 } });
      assert.deepEqual(await store.subscriptions.create(bobs), { status: 'created' });
      assert.equal(await store.retention.pruneNonces(AT + 1001, 10), 2);
      const later = request(4, {}, { ...again, now: AT + 1001 });
      assert.deepEqual(await store.subscriptions.create(later), { status: 'created' });
    },
  },
  {
    name: 'keeps expired nonces, because a clock may be ahead',
    async run({ store }) {
      await store.subscriptions.create(request(1));
      await store.subscriptions.create(request(2, {}, { now: AT + 5000 }));
      await store.subscriptions.remove({ id: 'unknown', account: ALICE });
      const again = { ...request(3), nonce: request(1).nonce };
      assert.deepEqual(await store.subscriptions.create(again), { status: 'used' });
    },
  },
  {
    name: 'limits the subscriptions of an account, and uses no nonce for a rejected one',
    async run({ store, writers }) {
      const outcomes = await Promise.all(
        range(12).map((n) => writers[n % writers.length]?.subscriptions.create(request(n, {}, { quota: 5 }))),
      );
      assert.equal(outcomes.filter((outcome) => outcome?.status === 'created').length, 5);
      assert.deepEqual(
        outcomes.find((outcome) => outcome?.status !== 'created'),
        { status: 'quotaExceeded', quota: 5 },
      );
      const rejected = outcomes.findIndex((outcome) => outcome?.status === 'quotaExceeded');
      assert.deepEqual(await store.subscriptions.create(request(rejected)), { status: 'created' });
    },
  },
  {
    name: 'limits the invitations to a target and of a channel, also after the subscription is removed',
    async run({ store }) {
      const limits = { since: AT - 1000, perTarget: 2, perChannel: 3, perAccount: 9, perClient: 9, perDomain: 9 };
      let count = 0;
      const invite = (target: string, now = AT, changes: Partial<Subscription> = {}) => {
        const n = ++count;
        const confirmation = { tokenHash: word(n), expiresAt: now + 10 };
        const invitation = { ...limits, since: now - 1000 };
        const made = { state: 'pending', target, ...changes } as const;
        return store.subscriptions.create(request(n, made, { confirmation, invitation, now }));
      };
      const remove = (n: number) => store.subscriptions.remove({ id: `subscription-${n}`, account: ALICE });
      const created = { status: 'created' };
      const limited = (by: string) => ({ status: 'limited', by });

      assert.deepEqual(await invite('a'), created);
      assert.deepEqual(await invite('a', AT, { account: BOB }), limited('pending'));
      await remove(1);
      assert.deepEqual(await invite('a'), created);
      await remove(3);
      assert.deepEqual(await invite('a'), limited('target'));
      assert.deepEqual(await invite('b'), created);
      assert.deepEqual(await invite('c'), limited('channel'));
      assert.deepEqual(await invite('c', AT, { channel: 'another' }), created);
      assert.deepEqual(await invite('a', AT + 1001), created);
      // A rejected invitation uses no nonce.
      assert.deepEqual(await store.subscriptions.create(request(6)), created);
    },
  },
  {
    name: 'counts an invitation that was not sent for its account and client only',
    async run({ store }) {
      const limits = { since: AT, perTarget: 1, perChannel: 1, perAccount: 3, perClient: 3, perDomain: 1 };
      const invite = async (n: number, client: string, account = ALICE, channel = 'mail') => {
        const confirmation = { tokenHash: word(n), expiresAt: AT + 10 };
        const invitation = { ...limits, client, domain: 'a.example' };
        const made = { state: 'pending', account, channel, target: 'x@a.example', createdAt: AT } as const;
        const outcome = await store.subscriptions.create(request(n, made, { confirmation, invitation }));
        return outcome.status === 'limited' ? outcome.by : outcome.status;
      };
      const remove = (n: number, isUnsent: boolean, account = ALICE) =>
        store.subscriptions.remove({ id: `subscription-${n}`, account, isUnsent });
      for (const n of [1, 2]) {
        assert.equal(await invite(n, 'a'), 'created');
        assert.equal(await remove(n, true, BOB), 'missing');
        assert.equal(await remove(n, true), 'removed');
      }
      assert.equal(await invite(3, 'b', BOB), 'created');
      await remove(3, false, BOB);
      assert.equal(await invite(4, 'b'), 'target');
      assert.equal(await invite(5, 'c', ALICE, 'other'), 'created');
      assert.equal(await invite(6, 'c', ALICE, 'another'), 'account');
      assert.equal(await invite(7, 'a', BOB, 'another'), 'created');
      assert.equal(await invite(8, 'a', `0x${'08'.repeat(20)}`, 'third'), 'client');
    },
  },
  {
    name: 'limits the invitations of an account, by a client and to a domain',
    async run({ store }) {
      const limits = { since: AT, perTarget: 9, perChannel: 9, perAccount: 2, perClient: 2, perDomain: 2 };
      let n = 0;
      const invite = (account: Subscription['account'], client?: string, domain?: string) => {
        const confirmation = { tokenHash: word(++n), expiresAt: AT + 10 };
        const invitation = { ...limits, client, domain };
        return store.subscriptions.create(request(n, { state: 'pending', account }, { confirmation, invitation }));
      };
      const of = (i: number) => `0x${String(i).padStart(40, '0')}` as const;
      const outcomes = [];
      for (const [account, client, domain] of [
        [of(1), 'a', 'x'],
        [of(1), 'b', 'y'],
        [of(1), 'c', 'z'],
        [of(2), 'a', 'y'],
        [of(3), 'a', 'z'],
        [of(3), 'b', 'y'],
        [of(3), undefined, undefined],
      ] as const) {
        const outcome = await invite(account, client, domain);
        outcomes.push(outcome.status === 'limited' ? outcome.by : outcome.status);
      }
      assert.deepEqual(outcomes, ['created', 'created', 'account', 'created', 'client', 'domain', 'created']);
    },
  },
  {
    name: 'activates a pending subscription by its token before it expires, and repeats the result',
    async run({ store }) {
      await store.subscriptions.create(pending(1, AT + 10));
      await store.subscriptions.create(pending(2, AT + 10));
      assert.equal(await store.subscriptions.confirm({ tokenHash: word(9), now: AT }), undefined);
      assert.equal(await store.subscriptions.confirm({ tokenHash: word(1), now: AT + 11 }), undefined);
      const confirmed = subscription(1, { state: 'active', secret: null });
      assert.deepEqual(await store.subscriptions.confirm({ tokenHash: word(1), now: AT + 10 }), confirmed);
      assert.deepEqual(
        await store.subscriptions.confirm({ tokenHash: word(1), now: AT + 99, target: 'other' }),
        confirmed,
      );
      const chat = await store.subscriptions.confirm({ tokenHash: word(2), now: AT, target: '4711' });
      assert.equal(chat?.target, '4711');
      assert.deepEqual(
        (await store.subscriptions.list(ALICE)).map(({ state, target }) => [state, target]),
        [
          ['active', subscription(1).target],
          ['active', '4711'],
        ],
      );
    },
  },
  {
    name: 'activates one subscription by several concurrent calls with a token',
    async run({ store, writers }) {
      await store.subscriptions.create(pending(1, AT + 10));
      const confirmed = await Promise.all(
        range(9).map((n) => writers[n % writers.length]?.subscriptions.confirm({ tokenHash: word(1), now: AT })),
      );
      assert.deepEqual(
        confirmed.map((each) => each?.state),
        range(9).map(() => 'active'),
      );
      assert.deepEqual(await idsOf(store), ['subscription-1']);
      await store.subscriptions.remove({ id: 'subscription-1', account: ALICE });
      assert.equal(await store.subscriptions.confirm({ tokenHash: word(1), now: AT }), undefined);
    },
  },
  {
    name: 'drops expired pending subscriptions but no active ones',
    async run({ store }) {
      await store.subscriptions.create(pending(1, AT + 10));
      await store.subscriptions.create(pending(2, AT + 10));
      await store.subscriptions.confirm({ tokenHash: word(2), now: AT });
      const third = (now: number) => request(3, {}, { quota: 2, now });
      assert.deepEqual(await store.subscriptions.create(third(AT + 10)), { status: 'quotaExceeded', quota: 2 });
      assert.deepEqual(await store.subscriptions.create(third(AT + 11)), { status: 'created' });
      assert.deepEqual(await idsOf(store), ['subscription-2', 'subscription-3']);
    },
  },
  {
    name: 'removes a subscription only for its own account and with an unused nonce',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2));
      const nonce = { account: BOB, nonce: '1', expiresAt: AT + 1000 };
      const remove = store.subscriptions.remove;
      assert.equal(await remove({ id: 'subscription-1', account: BOB, nonce }), 'missing');
      assert.equal(await remove({ id: 'subscription-1', account: BOB, nonce }), 'used');
      assert.equal(await remove({ id: 'unknown', account: ALICE }), 'missing');
      const own = { account: ALICE, nonce: '50', expiresAt: AT + 1000 };
      assert.equal(await remove({ id: 'subscription-1', account: ALICE, nonce: own }), 'removed');
      assert.equal(await remove({ id: 'subscription-2', account: ALICE, nonce: own }), 'used');
      assert.equal(await remove({ id: 'subscription-2', account: ALICE }), 'removed');
      assert.deepEqual(await idsOf(store), []);
    },
  },
  {
    name: 'keeps subscriptions and nonces after the store is closed and reopened',
    skip: ({ durable }) => (durable ? undefined : 'traits.durable is false'),
    async run({ store, open }) {
      await store.subscriptions.create(request(1));
      await store.subscriptions.create(pending(2, AT + 10));
      await store.close();
      const again = await open();
      assert.deepEqual(await idsOf(again), ['subscription-1', 'subscription-2']);
      assert.deepEqual(await again.subscriptions.create(request(1)), { status: 'used' });
      assert.equal((await again.subscriptions.confirm({ tokenHash: word(2), now: AT }))?.state, 'active');
    },
  },
];
