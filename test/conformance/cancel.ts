import assert from 'node:assert/strict';
import type { Hex } from 'intentbook';
import type { Rule } from './harness.ts';
import { ALICE, BOB, NOW, order, PLACED_AT, place, presignOrder, range, uid } from './orders.ts';

const request = (...uids: Hex[]) => ({ uids, now: NOW, cancelledAt: PLACED_AT + 7 });

export const CANCEL: readonly Rule[] = [
  {
    name: 'cancels an order, keeps its text and increments its version',
    async run({ store }) {
      await place(store, order(1));
      const [before] = await store.orders.get([order(1).uid]);
      assert.deepEqual(await store.orders.cancel(request(order(1).uid)), { status: 'cancelled' });
      assert.deepEqual(await store.orders.get([order(1).uid]), [
        { ...before, state: 'cancelled', invalidated: true, version: 2 },
      ]);
    },
  },
  {
    name: 'cancels several orders in one step, with one event each in list order',
    async run({ store }) {
      await place(store, order(1), order(2, { owner: BOB }), order(3));
      const outcome = await store.orders.cancel(request(order(3).uid, order(2, { owner: BOB }).uid));
      assert.deepEqual(outcome, { status: 'cancelled' });
      const at = PLACED_AT + 7;
      assert.deepEqual(await store.events.after(3, 10), [
        { id: 4, type: 'cancelled', uid: order(3).uid, owner: ALICE, at },
        { id: 5, type: 'cancelled', uid: order(2, { owner: BOB }).uid, owner: BOB, at },
      ]);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
      assert.deepEqual(await store.orders.count(BOB, NOW), { open: 0, pending: 0 });
    },
  },
  {
    name: 'cancels no order of a list if one of them cannot be cancelled',
    async run({ store }) {
      await place(store, order(1), presignOrder(2), order(3));
      const outcome = await store.orders.cancel(request(order(1).uid, presignOrder(2).uid, order(3).uid));
      assert.deepEqual(outcome, { status: 'rejected', uid: presignOrder(2).uid, reason: 'on-chain' });
      for (const read of await store.orders.get([order(1).uid, order(3).uid])) {
        assert.deepEqual([read.state, read.version, read.invalidated], ['open', 1, false]);
      }
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 2, pending: 1 });
      assert.equal(await store.events.last(), 3);
    },
  },
  {
    name: 'reports the first missing order before the first order with a conflicting state',
    async run({ store }) {
      const expired = order(2, { validTo: NOW - 1 });
      await place(store, presignOrder(1), expired, order(3));
      const rejection = (...uids: Hex[]) => store.orders.cancel(request(...uids));
      assert.deepEqual(await rejection(presignOrder(1).uid, order(3).uid, uid(98), expired.uid, uid(99)), {
        status: 'rejected',
        uid: uid(98),
        reason: 'missing',
      });
      assert.deepEqual(await rejection(order(3).uid, expired.uid, presignOrder(1).uid), {
        status: 'rejected',
        uid: expired.uid,
        reason: 'expired',
      });
    },
  },
  {
    name: 'rejects an order by its status first, and an open order by its scheme',
    async run({ store }) {
      const validTo = NOW - 1;
      await place(
        store,
        order(1),
        order(2, { signingScheme: 'ethsign' }),
        order(3, { signingScheme: 'eip1271' }),
        order(4, { signingScheme: 'presign' }),
        presignOrder(5),
        presignOrder(6, { validTo }),
        order(7, { signingScheme: 'eip1271', validTo }),
      );
      await store.orders.cancel(request(order(1).uid));
      for (const [uid, reason] of [
        [order(1).uid, 'cancelled'],
        [order(3).uid, 'on-chain'],
        [order(4).uid, 'on-chain'],
        [presignOrder(5).uid, 'on-chain'],
        [presignOrder(6, { validTo }).uid, 'expired'],
        [order(7, { validTo }).uid, 'expired'],
      ] as const) {
        assert.deepEqual(await store.orders.cancel(request(uid)), { status: 'rejected', uid, reason });
      }
      assert.deepEqual(await store.orders.cancel(request(order(2).uid)), { status: 'cancelled' });
    },
  },
  {
    name: 'cancels an order in its last valid second and rejects it one second later',
    async run({ store }) {
      const [first, second] = [order(1, { validTo: NOW }), order(2, { validTo: NOW })];
      await place(store, first, second);
      assert.deepEqual(await store.orders.cancel(request(first.uid)), { status: 'cancelled' });
      assert.deepEqual(await store.orders.cancel({ ...request(second.uid), now: NOW + 1 }), {
        status: 'rejected',
        uid: second.uid,
        reason: 'expired',
      });
    },
  },
  {
    name: 'cancels a UID that is listed twice once',
    async run({ store }) {
      await place(store, order(1), order(2));
      const uids = [order(1).uid, order(2).uid, order(1).uid] as const;
      assert.deepEqual(await store.orders.cancel(request(...uids)), { status: 'cancelled' });
      assert.equal((await store.orders.get([order(1).uid]))[0]?.version, 2);
      assert.equal(await store.events.last(), 4);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 0 });
    },
  },
  {
    name: 'lets exactly one of several concurrent cancellations of an order succeed',
    async run({ store, writers }) {
      await place(store, order(1));
      const outcomes = await Promise.all(
        range(20).map(async (n) => await writers[n % writers.length]?.orders.cancel(request(order(1).uid))),
      );
      assert.equal(outcomes.filter((outcome) => outcome?.status === 'cancelled').length, 1);
      assert.equal(await store.events.last(), 2);
    },
  },
  {
    name: 'applies concurrent cancellations of overlapping lists completely or not at all',
    async run({ store, writers }) {
      await place(store, ...range(20).map((n) => order(n)));
      const lists = range(19).map((n) => [order(n).uid, order(n + 1).uid] as const);
      const outcomes = await Promise.all(
        lists.map(async (uids, n) => await writers[n % writers.length]?.orders.cancel(request(...uids))),
      );
      const cancelled = new Set(lists.filter((_, n) => outcomes[n]?.status === 'cancelled').flat());
      for (const read of await store.orders.get(range(20).map((n) => order(n).uid))) {
        assert.equal(read.state, cancelled.has(read.uid) ? 'cancelled' : 'open');
      }
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 20 - cancelled.size, pending: 0 });
    },
  },
];
