import assert from 'node:assert/strict';
import type { Rule } from './harness.ts';
import { ALICE, BOB, NOW, order, PLACED_AT, place, presignOrder, range } from './orders.ts';

export const QUOTAS: readonly Rule[] = [
  {
    name: 'counts the new order, and returns quota and count when the quota is reached',
    async run({ store }) {
      for (const n of [1, 2]) {
        assert.deepEqual(await store.orders.insert([{ order: order(n), quota: 2 }]), [{ status: 'inserted' }]);
      }
      assert.deepEqual(await store.orders.insert([{ order: order(3), quota: 2 }]), [
        { status: 'quotaExceeded', quota: 2, count: 2 },
      ]);
      assert.deepEqual(await store.orders.get([order(3).uid]), []);
    },
  },
  {
    name: 'returns the true count if the quota is below the existing count',
    async run({ store }) {
      await place(store, ...range(5).map((n) => order(n)));
      assert.deepEqual(await store.orders.insert([{ order: order(9), quota: 2 }]), [
        { status: 'quotaExceeded', quota: 2, count: 5 },
      ]);
    },
  },
  {
    name: 'accepts no order with a quota of 0',
    async run({ store }) {
      assert.deepEqual(await store.orders.insert([{ order: order(1), quota: 0 }]), [
        { status: 'quotaExceeded', quota: 0, count: 0 },
      ]);
    },
  },
  {
    name: 'accepts exactly 10 of fifty concurrent inserts with a quota of 10',
    async run({ store, writers }) {
      const outcomes = await Promise.all(
        range(50).map(async (n) => await writers[n % writers.length]?.orders.insert([{ order: order(n), quota: 10 }])),
      );
      const statuses = outcomes.map((outcome) => outcome?.[0]?.status);
      assert.equal(statuses.filter((status) => status === 'inserted').length, 10);
      assert.equal(statuses.filter((status) => status === 'quotaExceeded').length, 40);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 10, pending: 0 });
      assert.equal((await store.orders.list({ owner: ALICE, limit: 100 })).length, 10);
    },
  },
  {
    name: 'counts each owner separately',
    async run({ store }) {
      const outcomes = await store.orders.insert([
        { order: order(1), quota: 1 },
        { order: order(2, { owner: BOB }), quota: 1 },
      ]);
      assert.deepEqual(outcomes, [{ status: 'inserted' }, { status: 'inserted' }]);
    },
  },
  {
    name: 'counts each quota class separately',
    async run({ store }) {
      const outcomes = await store.orders.insert([
        { order: presignOrder(1), quota: 1 },
        { order: presignOrder(2), quota: 1 },
        { order: order(3), quota: 1 },
        { order: order(4), quota: 1 },
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['inserted', 'quotaExceeded', 'inserted', 'quotaExceeded'],
      );
    },
  },
  {
    name: 'counts by quota class, not by state',
    async run({ store }) {
      const unverified = order(1, { signingScheme: 'eip1271', quotaClass: 'pending' });
      await place(store, unverified);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 1 });
      assert.deepEqual(await store.orders.insert([{ order: presignOrder(2), quota: 1 }]), [
        { status: 'quotaExceeded', quota: 1, count: 1 },
      ]);
    },
  },
  {
    name: 'counts an order at the end of its validity but no expired one',
    async run({ store }) {
      await place(store, order(1, { validTo: NOW + 60 }));
      const insert = (n: number, now: number) =>
        store.orders.insert([{ order: order(n, { creationDate: now * 1000, validTo: now + 60 }), quota: 1 }]);
      assert.deepEqual(await insert(2, NOW + 60), [{ status: 'quotaExceeded', quota: 1, count: 1 }]);
      assert.deepEqual(await insert(3, NOW + 61), [{ status: 'inserted' }]);
    },
  },
  {
    name: 'counts an order of the same batch that expires in the second of its creation',
    async run({ store }) {
      const last = order(1, { creationDate: NOW * 1000, validTo: NOW });
      const next = order(2, { creationDate: NOW * 1000 });
      assert.deepEqual(
        await store.orders.insert([
          { order: last, quota: 1 },
          { order: next, quota: 1 },
        ]),
        [{ status: 'inserted' }, { status: 'quotaExceeded', quota: 1, count: 1 }],
      );
    },
  },
  {
    name: 'compares expiry in whole seconds of the creation date',
    async run({ store }) {
      await place(store, order(1, { validTo: NOW }));
      const late = order(2, { creationDate: PLACED_AT + 999 });
      assert.deepEqual(await store.orders.insert([{ order: late, quota: 1 }]), [
        { status: 'quotaExceeded', quota: 1, count: 1 },
      ]);
      const later = order(2, { creationDate: PLACED_AT + 1000 });
      assert.deepEqual(await store.orders.insert([{ order: later, quota: 1 }]), [{ status: 'inserted' }]);
    },
  },
  {
    name: 'frees capacity when an order is cancelled',
    async run({ store }) {
      await place(store, order(1));
      await store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: PLACED_AT });
      assert.deepEqual(await store.orders.insert([{ order: order(2), quota: 1 }]), [{ status: 'inserted' }]);
    },
  },
  {
    name: 'frees the capacity of a replaced order for its replacement',
    async run({ store }) {
      await place(store, order(1), order(2));
      const replaces = order(1).uid;
      assert.deepEqual(await store.orders.insert([{ order: order(3), quota: 2, replaces }]), [{ status: 'inserted' }]);
      assert.deepEqual(await store.orders.insert([{ order: order(4), quota: 1, replaces: order(2).uid }]), [
        { status: 'quotaExceeded', quota: 1, count: 1 },
      ]);
      assert.equal((await store.orders.get([order(2).uid]))[0]?.state, 'open');
    },
  },
  {
    name: 'frees no capacity when the replaced order has another quota class',
    async run({ store }) {
      await place(store, order(1), order(2, { quotaClass: 'pending' }));
      const replacement = { order: order(3), quota: 1, replaces: order(2).uid };
      assert.deepEqual(await store.orders.insert([replacement]), [{ status: 'quotaExceeded', quota: 1, count: 1 }]);
    },
  },
  {
    name: 'counts orders that were inserted without a quota',
    async run({ store }) {
      await place(store, ...range(20).map((n) => order(n)));
      const [outcome] = await store.orders.insert([{ order: order(50), quota: 20 }]);
      assert.deepEqual(outcome, { status: 'quotaExceeded', quota: 20, count: 20 });
    },
  },
  {
    name: 'returns exact counts at earlier and later times',
    async run({ store }) {
      const validities = [0, 10, 20, 20, 30];
      await place(
        store,
        ...validities.map((after, n) => order(n, { validTo: NOW + after })),
        presignOrder(10, { validTo: NOW + 15 }),
        presignOrder(11, { validTo: NOW + 25 }),
        order(12, { validTo: NOW + 12, owner: BOB }),
      );
      for (const [after, open, pending] of [
        [31, 0, 0],
        [30, 1, 0],
        [21, 1, 1],
        [20, 3, 1],
        [15, 3, 2],
        [0, 5, 2],
      ] as const) {
        assert.deepEqual(await store.orders.count(ALICE, NOW + after), { open, pending }, `${after} s later`);
      }
    },
  },
  {
    name: 'returns exact counts among thousands of expired and many live orders',
    async run({ store }) {
      const expired = range(2500).map((n) => order(n, { validTo: NOW + 5 }));
      const live = range(40).map((n) => order(5000 + n, { validTo: NOW + 50 }));
      for (let start = 0; start < expired.length; start += 500)
        await place(store, ...expired.slice(start, start + 500));
      await place(store, ...live, order(6000, { validTo: NOW + 50, quotaClass: 'pending' }));
      await place(store, order(6001, { validTo: NOW + 50, owner: BOB }));
      assert.deepEqual(await store.orders.count(ALICE, NOW + 5), { open: 2540, pending: 1 });
      assert.deepEqual(await store.orders.count(ALICE, NOW + 6), { open: 40, pending: 1 });
      assert.deepEqual(await store.orders.count(ALICE, NOW + 50), { open: 40, pending: 1 });
      assert.deepEqual(await store.orders.count(ALICE, NOW + 51), { open: 0, pending: 0 });
    },
  },
  {
    name: 'returns zero for an owner without orders',
    async run({ store }) {
      assert.deepEqual(await store.orders.count(BOB, NOW), { open: 0, pending: 0 });
    },
  },
];
