import assert from 'node:assert/strict';
import type { AccountStore, ClaimedDelivery } from 'intentbook';
import { ALICE, BOB, range, word } from '../orders.ts';
import type { AccountRule } from './harness.ts';
import { AT } from './harness.ts';
import { notification, notify, step, withdraw } from './notifications.ts';
import { subscribe, subscription } from './subscriptions.ts';

const LATER = AT + 1_000_000;

async function claim(store: AccountStore, now = LATER, limit = 100): Promise<ClaimedDelivery[]> {
  return (await store.deliveries.claim({ now, until: now + 1000, limit })).claimed;
}

const delivered = (store: AccountStore, { seq, claim }: ClaimedDelivery) =>
  store.deliveries.recordResult({ seq, claim, outcome: { status: 'delivered' } });
const retry = (store: AccountStore, { seq, claim }: ClaimedDelivery, at: number) =>
  store.deliveries.recordResult({ seq, claim, outcome: { status: 'retry', at, error: 'rejected' } });
const dead = (store: AccountStore, { seq, claim }: ClaimedDelivery) =>
  store.deliveries.recordResult({ seq, claim, outcome: { status: 'dead', error: 'given up' } });

const placesOf = (claimed: readonly ClaimedDelivery[]) =>
  claimed.map(({ subscription, notification }) => `${subscription.id} ${notification}`).sort();

const countOf = async (store: AccountStore, state: 'pending' | 'delivered' | 'dead' | 'dropped') =>
  (await store.deliveries.list({ state, limit: 100 })).length;

/** Returns the first claimed delivery. */
async function claimOne(store: AccountStore, now = LATER): Promise<ClaimedDelivery> {
  const [one] = await claim(store, now);
  assert.ok(one, 'there is something to deliver');
  return one;
}

export const DELIVERIES: readonly AccountRule[] = [
  {
    name: 'delivers to a subscription that was made while the clock was ahead',
    async run({ store }) {
      await subscribe(store, subscription(1, { createdAt: AT + 86_400_000 }));
      await step(store, notify(notification(1, { at: AT })));
      assert.equal(await countOf(store, 'pending'), 1);
    },
  },
  {
    name: 'delivers no notification that is more than an hour older than its subscription',
    async run({ store }) {
      const hour = 3_600_000;
      await subscribe(store, subscription(1, { createdAt: AT - hour }), subscription(2, { createdAt: AT }));
      const of = (n: number, at: number) => notification(n, { at });
      await step(store, notify(of(1, AT), of(2, AT - hour), of(3, AT - hour - 1), of(4, AT - 2 * hour - 1)));
      // A notification that is shown again has the same age.
      await step(store, [withdraw(3), ...notify(of(3, AT))]);
      const all = await store.deliveries.list({ state: 'pending', limit: 100 });
      assert.deepEqual(all.map(({ subscription: to, notification: id }) => `${to} ${id}`).sort(), [
        'subscription-1 notification-1',
        'subscription-1 notification-2',
        'subscription-1 notification-3',
        'subscription-2 notification-1',
        'subscription-2 notification-2',
      ]);
      assert.equal((await store.notifications.list({ account: ALICE, limit: 10 })).length, 4);
    },
  },
  {
    name: 'claims a limited number of deliveries of each account, and none of busy accounts and closed lanes',
    async run({ store }) {
      const alices = range(4).map((n) => subscription(n + 1));
      const [bobs, mail] = [subscription(5, { account: BOB }), subscription(6, { account: BOB, channel: 'email' })];
      await subscribe(store, ...alices, bobs, mail);
      await step(store, [...notify(notification(1)), ...notify(notification(2, { account: BOB }))]);
      const request = { now: LATER, until: LATER + 1000, limit: 100 };
      const claimIds = async (more: Partial<Parameters<AccountStore['deliveries']['claim']>[0]>) => {
        const { claimed } = await store.deliveries.claim({ ...request, ...more });
        for (const { seq, claim } of claimed) {
          await store.deliveries.recordResult({ seq, claim, outcome: { status: 'released', at: AT } });
        }
        return claimed.map(({ subscription: { id } }) => Number(id.replace(/\D/g, '')));
      };

      assert.deepEqual(
        (await claimIds({ perAccount: 1 })).map((n) => (n < 5 ? ALICE : BOB)).sort(),
        [ALICE, BOB].sort(),
      );
      assert.equal((await claimIds({ perAccount: 2 })).length, 4);
      const [first, second] = await claimIds({ perAccount: 2, limit: 2 });
      const closed = [{ channel: 'email', isReliable: false, limit: 0 }];
      assert.notEqual((first ?? 0) < 5, (second ?? 0) < 5, "every account's first comes before any second");
      assert.deepEqual((await claimIds({ busyAccounts: [ALICE] })).sort(), [5, 6]);
      assert.deepEqual((await claimIds({ busyAccounts: [ALICE], lanes: closed })).sort(), [5]);
    },
  },
  {
    name: 'claims limited numbers of deliveries to reliable subscriptions and to others',
    async run({ store }) {
      await subscribe(store, ...range(6).map((n) => subscription(n, { account: n % 2 === 0 ? ALICE : BOB })));
      await step(store, [...notify(notification(1)), ...notify(notification(2, { account: BOB }))]);
      const isGood = (each: ClaimedDelivery) => ['subscription-0', 'subscription-1'].includes(each.subscription.id);
      for (const each of await claim(store)) await (isGood(each) ? delivered(store, each) : retry(store, each, AT));
      await step(store, [...notify(notification(3)), ...notify(notification(4, { account: BOB }))]);
      const claimLanes = async (good: number, others: number) => {
        const lanes = [true, false].map((isReliable) => ({
          channel: 'webhook',
          isReliable,
          limit: isReliable ? good : others,
        }));
        const { claimed } = await store.deliveries.claim({ now: LATER, until: LATER + 1000, limit: 100, lanes });
        for (const { seq, claim } of claimed)
          await store.deliveries.recordResult({ seq, claim, outcome: { status: 'released', at: AT } });
        assert.deepEqual(
          claimed.map(({ isReliable }) => isReliable),
          claimed.map(isGood),
        );
        return [claimed.filter(isGood).length, claimed.filter((each) => !isGood(each)).length];
      };
      assert.deepEqual(await claimLanes(9, 9), [2, 4]);
      assert.deepEqual(await claimLanes(1, 3), [1, 3]);
      assert.deepEqual(await claimLanes(0, 2), [0, 2]);
      assert.deepEqual(await claimLanes(9, 0), [2, 0]);
      // A failure moves a subscription to the other lane, and a success back.
      for (const each of (await claim(store)).filter(isGood)) await retry(store, each, AT);
      assert.deepEqual(await claimLanes(9, 0), [0, 0]);
      for (const each of (await claim(store, LATER + 2000)).filter((one) => one.subscription.id !== 'subscription-0'))
        await delivered(store, each);
      assert.equal((await claim(store, LATER + 5000)).filter(({ isReliable }) => isReliable).length, 4);
    },
  },
  {
    name: 'claims deliveries of every lane, however many of another one are due',
    async run({ store }) {
      const many = range(300).map((n) => subscription(n + 1, { account: `0x${String(n + 1).padStart(40, '0')}` }));
      await subscribe(store, ...many, subscription(901, { channel: 'email', account: BOB }));
      await step(
        store,
        many.flatMap(({ account }, n) => notify(notification(n + 1, { account }))),
      );
      await step(store, notify(notification(999, { account: BOB, at: AT + 500 })));
      const email = { channel: 'email', isReliable: false, limit: 1 };
      const hooks = { channel: 'webhook', isReliable: false };
      const count = async (limit: number) => {
        const lanes = [email, { ...hooks, limit }];
        const { claimed } = await store.deliveries.claim({ now: LATER, until: LATER + 1000, limit: 9, lanes });
        return claimed.map(({ subscription: { channel } }) => channel).sort();
      };
      assert.deepEqual(await count(2), ['email', 'webhook', 'webhook']);
      assert.deepEqual(
        await count(8),
        Array.from({ length: 8 }, () => 'webhook'),
      );
      // All are claimed in the end.
      let left = 290;
      for (let round = await claim(store); round.length > 0; round = await claim(store)) left -= round.length;
      assert.equal(left, 0);
    },
  },
  {
    name: 'shows since when a subscription fails, suspends it and activates it again by a replay',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2));
      await step(store, notify(notification(1), notification(2)));
      const listed = async () => (await store.subscriptions.list(ALICE)).map((each) => [each.state, each.failingSince]);
      const [failing, healthy] = (await claim(store)).sort((a, b) =>
        a.subscription.id.localeCompare(b.subscription.id),
      );
      assert.ok(failing && healthy);
      await delivered(store, healthy);
      await retry(store, failing, AT);
      assert.deepEqual(await listed(), [
        ['active', AT],
        ['active', undefined],
      ]);
      const [again] = (await claim(store)).filter((each) => each.subscription.id === 'subscription-1');
      assert.equal(again?.subscription.failingSince, AT);
      const outcome = { status: 'suspended', error: 'responded with 403' } as const;
      const suspend = { seq: again?.seq ?? 0, claim: again?.claim ?? 0, outcome };
      assert.equal(await store.deliveries.recordResult(suspend), 'recorded');
      assert.equal(await store.deliveries.recordResult(suspend), 'lost');
      assert.deepEqual(await store.deliveries.count(), { pending: 1, dead: 2, suspended: 1 });
      const dead = await store.deliveries.list({ state: 'dead', limit: 9 });
      assert.deepEqual(
        dead.map(({ error }) => error),
        [outcome.error, outcome.error],
      );
      assert.deepEqual(await listed(), [
        ['suspended', AT],
        ['active', undefined],
      ]);
      // It gets no new deliveries, and survives the expiry of pending subscriptions.
      await step(store, notify(notification(3)));
      assert.deepEqual(await store.deliveries.count(), { pending: 2, dead: 2, suspended: 1 });
      await subscribe(store, subscription(3));
      assert.equal(await store.deliveries.replay({ seqs: [dead[1]?.seq ?? 0], now: LATER }), 1);
      assert.deepEqual(await store.deliveries.count(), { pending: 3, dead: 1, suspended: 0 });
      assert.deepEqual((await listed()).slice(0, 2), [
        ['active', undefined],
        ['active', undefined],
      ]);
      const resumed = (await claim(store, LATER + 5000)).filter((each) => each.subscription.id === 'subscription-1');
      assert.deepEqual(placesOf(resumed), ['subscription-1 notification-2']);
      for (const each of resumed) await delivered(store, each);
      await step(store, notify(notification(4)));
      assert.deepEqual(
        placesOf(await claim(store, LATER + 9000)).filter((place) => place.startsWith('subscription-1')),
        ['subscription-1 notification-4'],
      );
    },
  },
  {
    name: 'claims a delivery whose due time is further ahead than any delay, after a clock was set back',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2));
      await step(store, notify(notification(1)));
      const [first, second] = await claim(store);
      assert.ok(first !== undefined && second !== undefined, 'both are due');
      await retry(store, first, LATER + 60_000);
      await retry(store, second, LATER + 60_001);
      const request = { now: LATER, until: LATER + 1000, limit: 9 };
      assert.deepEqual(await store.deliveries.claim(request), { claimed: [], next: LATER + 60_000 });
      const { claimed, next } = await store.deliveries.claim({ ...request, maxDelay: 60_000 });
      assert.deepEqual([placesOf(claimed), next], [placesOf([second]), LATER + 1000]);
    },
  },
  {
    name: 'makes a released delivery due again without an attempt',
    async run({ store }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1)));
      const { seq, claim: number } = await claimOne(store);
      const outcome = { status: 'released', at: LATER + 5 } as const;
      assert.equal(await store.deliveries.recordResult({ seq, claim: number, outcome }), 'recorded');
      const { claimed, next } = await store.deliveries.claim({ now: LATER, until: LATER + 1000, limit: 9 });
      assert.deepEqual([claimed, next], [[], LATER + 5]);
      const again = await claimOne(store, LATER + 5);
      assert.deepEqual([again.attempt, again.claim], [1, 2]);
      assert.equal(await store.deliveries.recordResult({ seq, claim: number, outcome }), 'lost');
    },
  },
  {
    name: 'creates deliveries for the active subscriptions of an account that include the type',
    async run({ store }) {
      const waiting = subscription(5, { state: 'pending' });
      await subscribe(
        store,
        subscription(1),
        subscription(2, { types: ['order_expired', 'order_filled'] }),
        subscription(3, { types: ['order_expired'] }),
        subscription(4, { account: BOB }),
      );
      const nonce = { account: waiting.account, nonce: '5', expiresAt: AT };
      const confirmation = { tokenHash: word(1), expiresAt: AT + 10 };
      await store.subscriptions.create({ subscription: waiting, confirmation, nonce, quota: 10, now: AT });
      await step(store, notify(notification(1)));
      await store.subscriptions.confirm({ tokenHash: word(1), now: AT });
      const claimed = await claim(store);
      assert.deepEqual(placesOf(claimed), ['subscription-1 notification-1', 'subscription-2 notification-1']);
      const [first] = claimed.filter((each) => each.subscription.id === 'subscription-1');
      assert.ok(first);
      assert.deepEqual(first, {
        seq: first.seq,
        subscription: subscription(1),
        notification: 'notification-1',
        body: notification(1).body,
        attempt: 1,
        claim: 1,
        isReliable: false,
      });
    },
  },
  {
    name: 'claims a delivery at once whose notification is dated after the clock',
    async run({ store }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1, { at: AT + 60_000 })));
      assert.deepEqual(placesOf(await claim(store, AT)), ['subscription-1 notification-1']);
    },
  },
  {
    name: 'claims one delivery per subscription at a time, in the order of the notifications',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2));
      await step(store, notify(...range(3).map((n) => notification(n))));
      const seen: string[] = [];
      for (let round = await claim(store); round.length > 0; round = await claim(store)) {
        assert.equal(round.length, 2);
        assert.deepEqual(await claim(store), [], 'a claimed delivery is not claimed again');
        seen.push(...placesOf(round));
        for (const each of round) assert.equal(await delivered(store, each), 'recorded');
      }
      assert.deepEqual(
        seen,
        range(3).flatMap((n) => [`subscription-1 notification-${n}`, `subscription-2 notification-${n}`]),
      );
      assert.equal(await countOf(store, 'delivered'), 6);
      assert.deepEqual(await store.deliveries.claim({ now: LATER, until: LATER, limit: 9 }), {
        claimed: [],
        next: null,
      });
    },
  },
  {
    name: 'holds back only the deliveries of the same subscription while a delivery waits for its retry',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2));
      await step(store, notify(notification(1), notification(2)));
      for (const each of await claim(store)) {
        if (each.subscription.id === 'subscription-1') await retry(store, each, LATER + 50);
        else await delivered(store, each);
      }
      const { claimed, next } = await store.deliveries.claim({ now: LATER + 49, until: LATER + 500, limit: 9 });
      assert.deepEqual(placesOf(claimed), ['subscription-2 notification-2']);
      assert.equal(next, LATER + 50);
      const again = await claimOne(store, LATER + 50);
      assert.deepEqual([again.notification, again.attempt, again.claim], ['notification-1', 2, 2]);
      const [listed] = await store.deliveries.list({ state: 'pending', limit: 1 });
      assert.deepEqual([listed?.attempts, listed?.error], [2, 'rejected']);
    },
  },
  {
    name: 'returns a claimed delivery again after its claim expires, and rejects the outcome of the first claimer',
    async run({ store }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1)));
      const first = await claimOne(store);
      assert.deepEqual(await claim(store, LATER + 999), []);
      const second = await claimOne(store, LATER + 1000);
      assert.equal(await delivered(store, first), 'lost');
      assert.equal(await dead(store, first), 'lost');
      assert.equal(await delivered(store, second), 'recorded');
      assert.equal(await delivered(store, second), 'lost');
    },
  },
  {
    name: 'gives each delivery to one of several concurrent claimers',
    async run({ store, writers }) {
      await subscribe(store, ...range(20).map((n) => subscription(n)));
      await step(store, notify(notification(1)));
      const rounds = await Promise.all(
        range(9).map((n) =>
          writers[n % writers.length]?.deliveries.claim({ now: LATER, until: LATER + 1000, limit: 3 }),
        ),
      );
      const all = rounds.flatMap((round) => placesOf(round?.claimed ?? []));
      assert.equal(new Set(all).size, all.length);
      assert.equal(all.length, 20);
    },
  },
  {
    name: 'claims the longest due deliveries first when the limit is smaller',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2), subscription(3));
      await step(store, notify(notification(1)));
      for (const each of await claim(store)) await retry(store, each, LATER + 10 - Number(each.subscription.id.at(-1)));
      const { claimed } = await store.deliveries.claim({ now: LATER + 10, until: LATER + 20, limit: 2 });
      assert.deepEqual(
        claimed.map(({ subscription }) => subscription.id),
        ['subscription-3', 'subscription-2'],
      );
    },
  },
  {
    name: 'continues with the next delivery after a dead one, lists the dead one and replays it',
    async run({ store }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1), notification(2), notification(3)));
      assert.deepEqual(await store.deliveries.count(), { pending: 3, dead: 0, suspended: 0 });
      assert.equal(await dead(store, await claimOne(store)), 'recorded');
      assert.equal(await dead(store, await claimOne(store)), 'recorded');
      assert.deepEqual(await store.deliveries.count(), { pending: 1, dead: 2, suspended: 0 });
      const listed = await store.deliveries.list({ state: 'dead', limit: 10 });
      assert.deepEqual(
        listed.map(({ notification, attempts, error, channel }) => [notification, attempts, error, channel]),
        [
          ['notification-1', 1, 'given up', 'webhook'],
          ['notification-2', 1, 'given up', 'webhook'],
        ],
      );
      const [first, second] = listed;
      assert.ok(first && second);
      assert.deepEqual(await store.deliveries.list({ state: 'dead', after: first.seq, limit: 10 }), [second]);
      assert.equal(await store.deliveries.replay({ seqs: [second.seq, 999], now: LATER }), 1);
      assert.equal(await store.deliveries.replay({ now: LATER }), 1);
      assert.equal(await store.deliveries.replay({ now: LATER }), 0);
      const again = await claimOne(store);
      assert.deepEqual([again.notification, again.attempt, again.claim], ['notification-1', 1, 2]);
    },
  },
  {
    name: 'drops pending deliveries of a withdrawn notification and delivers a restored one once',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2));
      await step(store, notify(notification(1)));
      for (const each of await claim(store))
        if (each.subscription.id === 'subscription-1') await delivered(store, each);
      await step(store, [withdraw(1)]);
      assert.deepEqual(await claim(store, LATER + 5000), []);
      assert.equal(await countOf(store, 'dropped'), 1);
      await step(store, notify(notification(1)));
      assert.deepEqual(placesOf(await claim(store, LATER + 5000)), ['subscription-2 notification-1']);
    },
  },
  {
    name: 'delivers no restored notification to a suspended subscription',
    async run({ store }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1)));
      await step(store, [withdraw(1), ...notify(notification(2))]);
      const [first] = await claim(store);
      assert.ok(first);
      const outcome = { status: 'suspended', error: 'responded with 403' } as const;
      await store.deliveries.recordResult({ seq: first.seq, claim: first.claim, outcome });
      await step(store, notify(notification(1)));
      assert.deepEqual(placesOf(await claim(store, 2 * LATER)), []);
    },
  },
  {
    name: 'does not repeat a delivery that succeeded while its notification was being withdrawn',
    async run({ store }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1)));
      const one = await claimOne(store);
      await step(store, [withdraw(1)]);
      assert.equal(await delivered(store, one), 'recorded');
      await step(store, notify(notification(1)));
      assert.deepEqual(await claim(store, LATER + 5000), []);
    },
  },
  {
    name: 'keeps a delivery dropped that failed while its notification was being withdrawn',
    async run({ store }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1)));
      const one = await claimOne(store);
      await step(store, [withdraw(1)]);
      assert.equal(await retry(store, one, LATER), 'lost');
      assert.equal(await dead(store, one), 'lost');
      assert.equal(await countOf(store, 'dropped'), 1);
    },
  },
  {
    name: 'does not replay a dead delivery of a withdrawn notification',
    async run({ store }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1)));
      await dead(store, await claimOne(store));
      await step(store, [withdraw(1)]);
      assert.equal(await countOf(store, 'dead'), 1);
      assert.equal(await store.deliveries.replay({ now: LATER }), 0);
      const dropped = await store.deliveries.list({ state: 'dropped', limit: 100 });
      assert.deepEqual(
        dropped.map(({ attempts, error }) => [attempts, error]),
        [[1, 'given up']],
      );
    },
  },
  {
    name: 'removes the deliveries of a removed subscription',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2));
      await step(store, notify(notification(1)));
      const [mine] = (await claim(store)).filter((each) => each.subscription.id === 'subscription-1');
      assert.ok(mine);
      const { account } = subscription(1);
      assert.equal(await store.subscriptions.remove({ id: 'subscription-1', account }), 'removed');
      assert.equal(await delivered(store, mine), 'lost');
      assert.deepEqual(placesOf(await claim(store, LATER + 5000)), ['subscription-2 notification-1']);
      assert.equal(await countOf(store, 'pending'), 1);
    },
  },
  {
    name: 'keeps deliveries and claims after the store is closed and reopened',
    skip: ({ durable }) => (durable ? undefined : 'traits.durable is false'),
    async run({ store, open }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1), notification(2)));
      await delivered(store, await claimOne(store));
      await claimOne(store);
      await store.close();
      const again = await open();
      assert.deepEqual(await claim(again), []);
      assert.deepEqual(placesOf(await claim(again, LATER + 1000)), ['subscription-1 notification-2']);
      assert.equal(await countOf(again, 'delivered'), 1);
    },
  },
];
