import assert from 'node:assert/strict';
import type { AccountStore } from 'intentbook';
import { ALICE, BOB, range, word } from '../orders.ts';
import type { AccountRule } from './harness.ts';
import { AT } from './harness.ts';
import { notification, notify, step, withdraw } from './notifications.ts';
import { subscribe, subscription } from './subscriptions.ts';

const ALL = 1000;
const ZERO = '0x0000000000000000000000000000000000000000';

const register = (store: AccountStore) =>
  store.affiliates.register({
    walletAddress: ALICE,
    code: 'ALICE',
    createdAt: AT,
    digest: word(1),
    signedMessage: '0xabcd',
  });

const idsOf = async (store: AccountStore, account: typeof ALICE) =>
  (await store.notifications.list({ account, limit: ALL })).map(({ id }) => id);

export const FORGET: readonly AccountRule[] = [
  {
    name: 'deletes subscriptions, notifications and deliveries of one account, and keeps the ids of the log',
    async run({ store }) {
      await subscribe(store, subscription(1), subscription(2), subscription(3, { account: BOB }));
      await step(store, notify(notification(1), notification(2, { account: BOB }), notification(3)));
      await step(store, [withdraw(1)]);
      const { claimed } = await store.deliveries.claim({ now: AT + 10, until: AT + 1000, limit: 9 });
      const mine = claimed.filter((each) => each.subscription.account === ALICE);
      assert.ok(mine.length > 0);

      const forgotten = { subscriptions: 2, notifications: 2, affiliate: 'none' };
      assert.deepEqual(await store.forget(ALICE), forgotten);

      assert.deepEqual(await store.subscriptions.list(ALICE), []);
      assert.equal((await store.subscriptions.list(BOB)).length, 1);
      assert.deepEqual([await idsOf(store, ALICE), await idsOf(store, BOB)], [[], ['notification-2']]);
      assert.deepEqual(await store.deliveries.count(), { pending: 1, dead: 0, suspended: 0 });
      for (const { seq, claim } of mine) {
        assert.equal(await store.deliveries.recordResult({ seq, claim, outcome: { status: 'delivered' } }), 'lost');
      }
      const log = await store.notifications.after(0, ALL);
      assert.deepEqual(
        log.map(({ id, account, type }) => [id, account, type]),
        [
          [1, ZERO, 'withdrawn'],
          [2, BOB, 'notification'],
          [3, ZERO, 'withdrawn'],
          [4, ZERO, 'withdrawn'],
        ],
      );
      assert.ok(!JSON.stringify(log).includes(ALICE));
      assert.deepEqual(await store.notifications.after(0, ALL, ALICE), []);
      assert.deepEqual([await store.notifications.last(), await store.retention.prunedThrough()], [4, 0]);

      assert.deepEqual(await store.forget(ALICE), { subscriptions: 0, notifications: 0, affiliate: 'none' });
      assert.equal(await step(store, [withdraw(3)]), 0);
      assert.equal(await step(store, notify(notification(3))), 1);
      assert.deepEqual([await store.notifications.last(), await idsOf(store, ALICE)], [5, ['notification-3']]);
    },
  },
  {
    name: 'leaves nothing beside concurrent subscriptions, notifications and deliveries of several writers',
    async run({ store, writers }) {
      const append = async (writer: AccountStore, n: number) => {
        const after = await writer.notifications.cursor('feed');
        const changes = notify(notification(n), notification(100 + n, { account: BOB }));
        await writer.notifications.append({ feed: 'feed', after, through: (after ?? 0) + 1, changes });
      };
      const deliver = async (writer: AccountStore, n: number) => {
        const { claimed } = await writer.deliveries.claim({ now: AT + n, until: AT + n + 1, limit: 4 });
        const outcomes = [{ status: 'delivered' }, { status: 'dead', error: 'e' }, { status: 'suspended', error: 'e' }];
        for (const { seq, claim } of claimed)
          await writer.deliveries.recordResult({ seq, claim, outcome: outcomes[n % 3] as { status: 'delivered' } });
      };
      const work = async (writer: AccountStore, n: number) => {
        await subscribe(writer, subscription(n), subscription(100 + n, { account: BOB }));
        await append(writer, n);
        await Promise.all([
          deliver(writer, n),
          n % 3 === 0 && store.forget(ALICE),
          writer.deliveries.replay({ now: AT }),
        ]);
      };
      await Promise.all(range(12).map((n) => work(writers[n % writers.length] ?? store, n)));
      await store.forget(ALICE);
      assert.deepEqual([await store.subscriptions.list(ALICE), await idsOf(store, ALICE)], [[], []]);
      assert.equal((await store.subscriptions.list(BOB)).length, 12);
      assert.ok(!JSON.stringify(await store.notifications.after(0, ALL)).includes(ALICE));
      await store.forget(BOB);
      assert.deepEqual(await store.deliveries.count(), { pending: 0, dead: 0, suspended: 0 });
    },
  },
  {
    name: 'lets retention delete the entries of forgotten accounts',
    async run({ store }) {
      await step(store, notify(...range(3).map((n) => notification(n + 1, n === 1 ? { account: BOB } : {}))));
      for (const account of [ALICE, BOB, ZERO] as const) await store.forget(account);
      await step(store, notify(notification(4)));
      const prune = () => store.retention.pruneNotifications({ before: AT, through: ALL, limit: ALL });
      assert.deepEqual([await prune(), await prune(), await store.retention.prunedThrough()], [3, 0, 3]);
      assert.deepEqual(await store.forget(ALICE), { subscriptions: 0, notifications: 1, affiliate: 'none' });
      assert.equal(await store.notifications.last(), 4);
    },
  },
  {
    name: 'deletes the targets of invitations, and keeps used nonces',
    async run({ store }) {
      const target = 'alice@a.example';
      const limits = { since: AT - 9, perTarget: 1, perAccount: 9, perClient: 9, perDomain: 9, perChannel: 9 };
      const create = (n: number, nonce: string) =>
        store.subscriptions.create({
          subscription: subscription(n, { channel: 'email', target, state: 'pending' }),
          confirmation: { tokenHash: word(n), expiresAt: AT + 10 },
          nonce: { account: ALICE, nonce, expiresAt: AT + 10 },
          invitation: { ...limits, client: 'c', domain: 'a.example' },
          quota: 10,
          now: AT,
        });
      assert.deepEqual(await create(1, '1'), { status: 'created' });
      assert.deepEqual(await store.forget(ALICE), { subscriptions: 1, notifications: 0, affiliate: 'none' });
      assert.equal(await store.subscriptions.confirm({ tokenHash: word(1), now: AT }), undefined);
      assert.deepEqual([await create(2, '1'), await create(2, '2')], [{ status: 'used' }, { status: 'created' }]);
    },
  },
  {
    name: 'deletes the affiliate code of an account, whose signature stays used',
    async run({ store }) {
      await register(store);
      assert.equal((await store.forget(BOB)).affiliate, 'none');
      assert.equal((await store.forget(ALICE)).affiliate, 'deleted');
      assert.deepEqual(
        [await store.affiliates.byWallet(ALICE), await store.affiliates.byCode('ALICE')],
        [undefined, undefined],
      );
      assert.deepEqual(await register(store), { status: 'used' });
    },
  },
  {
    name: 'keeps the affiliate code that the value of a referred trade names',
    async run({ store }) {
      await register(store);
      const value = (affiliate: string | null) =>
        JSON.stringify({ trader: ALICE, referral: { code: 'ALICE', affiliate } });
      const mark = (feed: string, after: number | null, affiliate: string | null) =>
        store.notifications.append({
          feed,
          after,
          through: (after ?? 0) + 1,
          changes: [],
          marks: [{ key: 'trade', value: value(affiliate) }],
        });
      await mark('affiliates log 1', null, null);
      await mark('other', null, ALICE);
      await mark('affiliates log 2', null, ALICE);
      const forgotten = { subscriptions: 0, notifications: 0, affiliate: 'kept' };
      assert.deepEqual(await store.forget(ALICE), forgotten);
      assert.equal((await store.affiliates.byCode('ALICE'))?.walletAddress, ALICE);
      await mark('affiliates log 2', 1, BOB);
      assert.equal((await store.forget(ALICE)).affiliate, 'deleted');
    },
  },
];
