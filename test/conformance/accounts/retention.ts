import assert from 'node:assert/strict';
import type { AccountStore } from 'intentbook';
import { ALICE, BOB, range } from '../orders.ts';
import type { AccountRule } from './harness.ts';
import { AT } from './harness.ts';
import { notification, notify, step, withdraw } from './notifications.ts';
import { subscribe, subscription } from './subscriptions.ts';

const ALL = 1000;
const FOREVER = AT * 2;

const idsOf = async (store: AccountStore, account = ALICE) =>
  (await store.notifications.list({ account, limit: ALL })).map(({ id }) => id);

export const RETENTION: readonly AccountRule[] = [
  {
    name: 'deletes old notifications with their entries from the start of the log',
    async run({ store }) {
      await step(store, notify(...range(4).map((n) => notification(n + 1, n === 1 ? { account: BOB } : {}))));
      await step(store, notify(notification(5, { at: AT - 100 })));
      const log = await store.notifications.after(0, ALL);
      const through = await store.notifications.last();
      assert.equal(await store.retention.prunedThrough(), 0);
      assert.equal(await store.retention.pruneNotifications({ before: AT + 1, through, limit: ALL }), 0);
      assert.equal(await store.retention.pruneNotifications({ before: AT + 4, through, limit: 2 }), 2);
      assert.equal(await store.retention.prunedThrough(), 2);
      assert.deepEqual(await store.notifications.after(0, ALL), log.slice(2));
      assert.deepEqual(await store.notifications.after(0, ALL, BOB), []);
      assert.deepEqual(await store.notifications.after(3, 1, ALICE), log.slice(3, 4));
      assert.deepEqual(await idsOf(store, BOB), []);

      // The last notification is older than the one before it, which is kept.
      assert.equal(await store.retention.pruneNotifications({ before: AT + 4, through, limit: ALL }), 1);
      assert.deepEqual(await idsOf(store), ['notification-4', 'notification-5']);
    },
  },
  {
    name: 'deletes no entry above a position, and never the newest',
    async run({ store }) {
      await step(store, notify(...range(4).map((n) => notification(n + 1))));
      const prune = (through: number) => store.retention.pruneNotifications({ before: FOREVER, through, limit: ALL });
      assert.equal(await prune(2), 2);
      assert.equal(await prune(4), 1);
      assert.equal(await prune(4), 0);
      assert.equal(await store.notifications.last(), 4);
      await step(store, notify(notification(5)));
      assert.deepEqual(
        (await store.notifications.after(4, ALL)).map(({ id }) => id),
        [5],
      );
      assert.deepEqual(await idsOf(store), ['notification-5', 'notification-4']);
    },
  },
  {
    name: 'deletes a notification with its last entry',
    async run({ store }) {
      await step(store, notify(notification(1), notification(2)));
      await step(store, [withdraw(1), ...notify(notification(3))]);
      await step(store, notify(notification(1)));
      await step(store, notify(notification(4)));
      const prune = (through: number) => store.retention.pruneNotifications({ before: FOREVER, through, limit: ALL });
      assert.equal(await prune(4), 4);
      assert.deepEqual(await idsOf(store), ['notification-4', 'notification-1']);
      assert.equal(await prune(5), 1);
      assert.deepEqual(await idsOf(store), ['notification-4']);
      // A withdrawal of a deleted notification has no effect.
      assert.equal(await step(store, [withdraw(1)]), 0);
    },
  },
  {
    name: 'deletes the deliveries of a deleted notification',
    async run({ store }) {
      await subscribe(store, subscription(1));
      await step(store, notify(notification(1), notification(2)));
      const { claimed } = await store.deliveries.claim({ now: AT + 10, until: AT + 20, limit: 1 });
      const [first] = claimed;
      assert.ok(first !== undefined);
      assert.equal(await store.retention.pruneNotifications({ before: FOREVER, through: 1, limit: ALL }), 1);
      assert.deepEqual(await store.deliveries.count(), { pending: 1, dead: 0, suspended: 0 });
      const outcome = { status: 'delivered' } as const;
      assert.equal(await store.deliveries.recordResult({ seq: first.seq, claim: first.claim, outcome }), 'lost');
      const next = await store.deliveries.claim({ now: AT + 30, until: AT + 40, limit: 1 });
      assert.deepEqual(
        next.claimed.map((each) => each.notification),
        ['notification-2'],
      );
    },
  },
  {
    name: 'deletes expired nonces only',
    async run({ store }) {
      const create = (n: number, nonce: number) => {
        const used = { account: ALICE, nonce: String(nonce), expiresAt: AT + nonce };
        return store.subscriptions.create({ subscription: subscription(n), nonce: used, quota: ALL, now: AT });
      };
      for (const n of range(4)) assert.deepEqual(await create(n, n), { status: 'created' });
      assert.equal(await store.retention.pruneNonces(AT, ALL), 0);
      assert.equal(await store.retention.pruneNonces(AT + 3, 2), 2);
      assert.equal(await store.retention.pruneNonces(AT + 3, ALL), 1);
      assert.deepEqual(await create(9, 3), { status: 'used' });
    },
  },
];
