import assert from 'node:assert/strict';
import type { Hex, Store } from 'intentbook';
import { apply, PLACED, placement, refund, trade } from './chain.ts';
import type { Rule } from './harness.ts';
import { ALICE, BOB, NOW, order, PLACED_AT, place } from './orders.ts';

/** Time after the end of all orders of the suite. */
const LATE = NOW + 100_000;
const ALL = 1000;

async function left(store: Store): Promise<string[]> {
  return (await store.orders.list({ limit: ALL })).map(({ uid }) => uid).sort();
}

export const PRUNING: readonly Rule[] = [
  {
    name: 'removes orders past their retention with their quotes and keeps the others',
    async run({ store }) {
      const quote = { body: '{"solver":"x"}', metadata: '{}' };
      const cancelled = order(1, { validTo: NOW + 10 });
      const swept = order(2, { validTo: NOW + 20, owner: BOB, quote });
      const unswept = order(3, { validTo: NOW + 30 });
      const valid = order(4, { validTo: LATE + 1 });
      const young = order(5, { validTo: NOW + 40, creationDate: PLACED_AT + 60_000 });
      await place(store, cancelled, swept, unswept, valid, young);
      await store.orders.cancel({ uids: [cancelled.uid, valid.uid, young.uid], now: NOW, cancelledAt: PLACED_AT });
      await store.orders.expire(NOW + 21, ALL);
      const log = await store.events.after(0, ALL);
      const kept = await store.orders.get([unswept.uid, valid.uid, young.uid]);

      if (store.orders.total !== undefined) {
        assert.equal(await store.orders.total(), 5);
        assert.equal(await store.orders.total(NOW + 5), 0);
        assert.equal(await store.orders.total(NOW + 50), 2);
      }

      // Creation and end must both be earlier.
      assert.equal(await store.orders.prune({ before: NOW + 5, limit: ALL }), 0);
      assert.equal(await store.orders.prune({ before: NOW + 50, limit: ALL }), 2);
      assert.deepEqual(await left(store), [unswept.uid, valid.uid, young.uid].sort());
      assert.deepEqual(await store.orders.get([cancelled.uid, swept.uid]), []);
      const byUid = (a: { uid: string }, b: { uid: string }) => (a.uid < b.uid ? -1 : 1);
      const after = await store.orders.get([unswept.uid, valid.uid, young.uid]);
      assert.deepEqual(after.sort(byUid), kept.sort(byUid));
      assert.deepEqual(await store.events.after(0, ALL), log);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
      assert.equal(await store.orders.prune({ before: NOW + 50, limit: ALL }), 0);
    },
  },
  {
    name: 'removes the oldest orders first, up to the limit',
    async run({ store }) {
      const orders = [3, 1, 2].map((n) => order(n, { validTo: NOW + 10, creationDate: PLACED_AT + n }));
      await place(store, ...orders);
      await store.orders.expire(NOW + 11, ALL);
      const [third, first, second] = orders.map(({ uid }) => uid);
      assert.equal(await store.orders.prune({ before: LATE, limit: 1 }), 1);
      assert.deepEqual(await store.orders.get([first as Hex]), []);
      assert.equal((await left(store)).length, 2);
      assert.equal(await store.orders.prune({ before: LATE, limit: 2 }), 2);
      assert.deepEqual(await left(store), []);
      assert.deepEqual(await store.orders.get([second, third] as Hex[]), []);
    },
  },
  {
    name: 'removes each order once under concurrent calls',
    async run({ store, writers }) {
      const orders = Array.from({ length: 20 }, (_, n) =>
        order(n, { validTo: NOW + 10, owner: n % 2 === 0 ? ALICE : BOB }),
      );
      await place(store, ...orders);
      await store.orders.expire(NOW + 11, ALL);
      let removed = 0;
      // A call can skip an owner that another call is processing, so calls repeat until nothing is left.
      while ((await left(store)).length > 0) {
        const counts = await Promise.all(
          [...writers, ...writers].map((each) => each.orders.prune({ before: LATE, limit: 7 })),
        );
        removed += counts.reduce((sum, count) => sum + count, 0);
      }
      assert.equal(removed, orders.length);
    },
  },
  {
    name: 'leaves tombstones of orders cancelled off chain, until the given time',
    async run({ store }) {
      const [cancelled, replaced, expired] = [order(1), order(2), order(3)];
      const [replacement, other] = [order(4, { owner: BOB }), order(5, { owner: BOB })];
      await place(store, cancelled, replaced, expired);
      await store.orders.cancel({ uids: [cancelled.uid], now: NOW, cancelledAt: PLACED_AT });
      await store.orders.insert([{ order: replacement, replaces: replaced.uid }]);
      await store.orders.expire(LATE, ALL);
      assert.equal(await store.orders.prune({ before: LATE, limit: ALL }), 4);

      const inserts = [cancelled, replaced, expired].map((each) => ({ order: each }));
      const outcomes = ['duplicate', 'duplicate', 'inserted'].map((status) => ({ status }));
      assert.deepEqual(await store.orders.insert(inserts), outcomes);
      // A quota makes the store check more than the UID.
      assert.deepEqual(await store.orders.insert([{ order: cancelled, quota: 1 }]), [{ status: 'duplicate' }]);
      assert.deepEqual(await store.orders.get([cancelled.uid, replaced.uid]), []);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });

      const { validTo } = cancelled;
      await store.orders.prune({ before: NOW, limit: ALL, tombstonesBefore: validTo });
      assert.deepEqual(await store.orders.insert([{ order: cancelled }]), [{ status: 'duplicate' }]);
      await store.orders.prune({ before: NOW, limit: ALL, tombstonesBefore: validTo + 1 });
      assert.deepEqual(await store.orders.insert([{ order: cancelled }, { order: other }]), [
        { status: 'inserted' },
        { status: 'inserted' },
      ]);
    },
  },
  {
    name: 'keeps a removed order that was placed on chain removed when its chain events are read again or it is refunded',
    async run({ store }) {
      const events = [{ ...placement(9), userValidTo: NOW + 3 }, trade(PLACED, 10)];
      await apply(store, 10, ...events);
      assert.deepEqual(await left(store), [PLACED.uid]);
      await store.orders.expire(LATE, ALL);
      assert.equal(await store.orders.prune({ before: LATE, limit: ALL }), 1);
      const last = await store.events.last();
      await apply(store, 12, ...events);
      await apply(store, 13, ...events, refund(PLACED, 13));
      assert.deepEqual(await left(store), []);
      assert.equal(await store.events.last(), last);
    },
  },
];
