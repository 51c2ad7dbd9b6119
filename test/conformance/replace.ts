import assert from 'node:assert/strict';
import type { Rule } from './harness.ts';
import { ALICE, document, NOW, order, PLACED_AT, place, presignOrder, range, uid } from './orders.ts';

export const REPLACE: readonly Rule[] = [
  {
    name: 'cancels the old order and inserts the new one in one step',
    async run({ store }) {
      await place(store, order(1));
      const creationDate = PLACED_AT + 5000;
      const outcomes = await store.orders.insert([{ order: order(2, { creationDate }), replaces: order(1).uid }]);
      assert.deepEqual(outcomes, [{ status: 'inserted' }]);
      const [old] = await store.orders.get([order(1).uid]);
      assert.deepEqual([old?.state, old?.invalidated, old?.version], ['cancelled', true, 2]);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
      assert.deepEqual(await store.events.after(1, 10), [
        { id: 2, type: 'cancelled', uid: order(1).uid, owner: ALICE, at: creationDate },
        { id: 3, type: 'created', uid: order(2).uid, owner: ALICE, at: creationDate },
      ]);
    },
  },
  {
    name: 'rejects the replacement of an order that cannot be cancelled and returns the reason',
    async run({ store }) {
      await place(
        store,
        order(1),
        presignOrder(2),
        order(3, { signingScheme: 'eip1271' }),
        order(4, { validTo: NOW - 1 }),
      );
      await store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: PLACED_AT });
      const events = await store.events.last();
      for (const [replaces, reason] of [
        [uid(99), 'missing'],
        [order(1).uid, 'cancelled'],
        [presignOrder(2).uid, 'on-chain'],
        [order(3).uid, 'on-chain'],
        [order(4, { validTo: NOW - 1 }).uid, 'expired'],
      ] as const) {
        const insert = { order: order(10), document: document(1, '{}'), replaces };
        assert.deepEqual(await store.orders.insert([insert]), [{ status: 'notReplaceable', reason }]);
      }
      assert.deepEqual(await store.orders.get([order(10).uid]), []);
      assert.equal(await store.appData.get(document(1, '').hash), undefined);
      assert.equal(await store.events.last(), events);
    },
  },
  {
    name: 'replaces an order at the end of its validity',
    async run({ store }) {
      await place(store, order(1, { validTo: NOW }));
      const replaces = order(1, { validTo: NOW }).uid;
      const late = order(2, { creationDate: PLACED_AT + 999 });
      assert.deepEqual(await store.orders.insert([{ order: late, replaces }]), [{ status: 'inserted' }]);
    },
  },
  {
    name: 'lets exactly one of two concurrent replacements of an order succeed',
    async run({ store, writers }) {
      await place(store, order(1));
      const replaces = order(1).uid;
      const outcomes = await Promise.all(
        range(20).map(
          async (n) => await writers[n % writers.length]?.orders.insert([{ order: order(10 + n), replaces }]),
        ),
      );
      const statuses = outcomes.map((outcome) => outcome?.[0]);
      assert.equal(statuses.filter((outcome) => outcome?.status === 'inserted').length, 1);
      for (const outcome of statuses) {
        if (outcome?.status !== 'inserted') {
          assert.deepEqual(outcome, { status: 'notReplaceable', reason: 'cancelled' });
        }
      }
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
      assert.equal((await store.events.after(0, 100)).filter(({ type }) => type === 'cancelled').length, 1);
    },
  },
  {
    name: 'lets the first of two replacements in one batch succeed',
    async run({ store }) {
      await place(store, order(1));
      const replaces = order(1).uid;
      const outcomes = await store.orders.insert([
        { order: order(2), replaces },
        { order: order(3), replaces },
      ]);
      assert.deepEqual(outcomes, [{ status: 'inserted' }, { status: 'notReplaceable', reason: 'cancelled' }]);
    },
  },
  {
    name: 'replaces an order of the same batch',
    async run({ store }) {
      const outcomes = await store.orders.insert([
        { order: order(1), quota: 1 },
        { order: order(2), quota: 1, replaces: order(1).uid },
      ]);
      assert.deepEqual(outcomes, [{ status: 'inserted' }, { status: 'inserted' }]);
      assert.equal((await store.orders.get([order(1).uid]))[0]?.state, 'cancelled');
    },
  },
  {
    name: 'lets exactly one of a replacement and a concurrent cancellation succeed',
    async run({ store, writers }) {
      await place(store, order(1));
      const other = writers[1] ?? store;
      const [replaced, cancelled] = await Promise.all([
        store.orders.insert([{ order: order(2), replaces: order(1).uid }]),
        other.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: PLACED_AT }),
      ]);
      const winners = [replaced[0]?.status === 'inserted', cancelled.status === 'cancelled'];
      assert.equal(winners.filter((won) => won).length, 1);
    },
  },
];
