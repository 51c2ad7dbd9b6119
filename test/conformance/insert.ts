import assert from 'node:assert/strict';
import type { OrderInsert } from 'intentbook';
import type { Rule } from './harness.ts';
import { ALICE, document, NOW, order, place, presignOrder, range, uid } from './orders.ts';

export const INSERT: readonly Rule[] = [
  {
    name: 'returns an inserted order unchanged',
    async run({ store }) {
      const placed = order(1);
      assert.deepEqual(await store.orders.insert([{ order: placed }]), [{ status: 'inserted' }]);
      assert.deepEqual(await store.orders.get([placed.uid]), [
        {
          uid: placed.uid,
          body: placed.body,
          version: 1,
          creationDate: placed.creationDate,
          validTo: placed.validTo,
          state: 'open',
          invalidated: false,
          executedSellAmount: '0',
          executedBuyAmount: '0',
          executedFeeAmount: '0',
          executedFee: '0',
          executedFeeToken: null,
          fullAppData: null,
          quote: null,
          placement: null,
        },
      ]);
    },
  },
  {
    name: 'reports a known UID as a duplicate and changes nothing',
    async run({ store }) {
      await place(store, order(1));
      const before = await store.orders.get([order(1).uid]);
      const again = { order: order(1, { body: '{"other":true}' }), document: document(0, 'late') };
      assert.deepEqual(await store.orders.insert([again]), [{ status: 'duplicate' }]);
      assert.deepEqual(await store.orders.get([order(1).uid]), before);
      assert.equal(await store.appData.get(document(0, '').hash), undefined);
      assert.equal(await store.events.last(), 1);
    },
  },
  {
    name: 'reports a cancelled order as a duplicate',
    async run({ store }) {
      await place(store, order(1));
      await store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: NOW * 1000 });
      assert.deepEqual(await store.orders.insert([{ order: order(1) }]), [{ status: 'duplicate' }]);
    },
  },
  {
    name: 'reports a duplicate before a failed replacement, and that before a reached quota',
    async run({ store }) {
      await place(store, order(1));
      const replaces = uid(99);
      assert.deepEqual(await store.orders.insert([{ order: order(1), replaces, quota: 0 }]), [{ status: 'duplicate' }]);
      assert.deepEqual(await store.orders.insert([{ order: order(2), replaces, quota: 0 }]), [
        { status: 'notReplaceable', reason: 'missing' },
      ]);
    },
  },
  {
    name: 'returns one outcome per order and inserts the others when one fails',
    async run({ store }) {
      await place(store, order(1));
      const outcomes = await store.orders.insert([
        { order: order(2) },
        { order: order(1) },
        { order: order(3), quota: 2 },
        { order: order(4), replaces: uid(99) },
        { order: order(5) },
        { order: order(5) },
      ]);
      assert.deepEqual(outcomes, [
        { status: 'inserted' },
        { status: 'duplicate' },
        { status: 'quotaExceeded', quota: 2, count: 2 },
        { status: 'notReplaceable', reason: 'missing' },
        { status: 'inserted' },
        { status: 'duplicate' },
      ]);
      assert.deepEqual(
        (await store.events.after(0, 10)).map((event) => event.uid),
        [order(1).uid, order(2).uid, order(5).uid],
      );
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 3, pending: 0 });
    },
  },
  {
    name: 'accepts an empty batch',
    async run({ store }) {
      assert.deepEqual(await store.orders.insert([]), []);
      assert.equal(await store.events.last(), 0);
    },
  },
  {
    name: 'inserts a large batch completely',
    async run({ store }) {
      const outcomes = await store.orders.insert(range(700).map((n) => ({ order: order(n) })));
      assert.ok(outcomes.every(({ status }) => status === 'inserted'));
      assert.equal((await store.orders.get(range(700).map((n) => order(n).uid))).length, 700);
    },
  },
  {
    name: 'lets exactly one of several concurrent inserts of an order succeed',
    async run({ writers }) {
      const outcomes = await Promise.all(
        range(30).map((n) => writers[n % writers.length]?.orders.insert([{ order: order(1) }])),
      );
      const inserted = outcomes.filter((outcome) => outcome?.[0]?.status === 'inserted');
      assert.equal(inserted.length, 1);
      assert.equal(await writers[0]?.events.last(), 1);
    },
  },
  {
    name: 'stores an order that waits for its presignature as pending',
    async run({ store }) {
      await place(store, presignOrder(1));
      assert.equal((await store.orders.get([presignOrder(1).uid]))[0]?.state, 'presignaturePending');
    },
  },
  {
    name: 'rejects a host transaction if the store cannot join one',
    skip: ({ hostTransaction }) => (hostTransaction ? 'traits.hostTransaction is true: it can' : undefined),
    async run({ store }) {
      await assert.rejects(store.orders.insert([{ order: order(1) }], { transaction: {} }), { code: 'Unsupported' });
      assert.deepEqual(await store.orders.get([order(1).uid]), []);
    },
  },
  {
    name: 'commits a joined insert with the host transaction',
    skip: ({ hostTransaction }) => (hostTransaction ? undefined : 'traits.hostTransaction is false'),
    async run({ store, storage }) {
      await storage.transact?.(async (transaction) => {
        const outcomes = await store.orders.insert([{ order: order(1) }, { order: order(1) }], { transaction });
        assert.deepEqual(outcomes, [{ status: 'inserted' }, { status: 'duplicate' }]);
      });
      assert.equal((await store.orders.get([order(1).uid])).length, 1);
      assert.equal((await store.events.after(0, 10)).length, 1);
    },
  },
  {
    name: 'rolls back a joined insert with the host transaction',
    skip: ({ hostTransaction }) => (hostTransaction ? undefined : 'traits.hostTransaction is false'),
    async run({ store, storage }) {
      await place(store, order(7));
      const undone = storage.transact?.(async (transaction) => {
        const replaces = order(7).uid;
        await store.orders.insert([{ order: order(1), document: document(1, '{}'), replaces }], { transaction });
        throw new Error('the host thinks better of it');
      });
      await assert.rejects(undone ?? Promise.resolve(), /thinks better/);
      assert.deepEqual(await store.orders.get([order(1).uid]), []);
      assert.equal((await store.orders.get([order(7).uid]))[0]?.state, 'open');
      assert.equal(await store.appData.get(document(1, '').hash), undefined);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
      assert.equal(await store.events.last(), 1);
    },
  },
  {
    name: 'keeps documents visible that a host transaction uses, also after its rollback',
    skip: ({ hostTransaction }) => (hostTransaction ? undefined : 'traits.hostTransaction is false'),
    async run({ store, storage }) {
      const use = (n: number, sold: number) => ({
        order: order(100 + n * 10 + sold, { appData: document(n, '').hash, validTo: NOW + 1_000 * sold }),
        document: document(n, `{"n":${n}}`),
      });
      const join = async (inserts: readonly OrderInsert[], isCommitted: boolean, whileOpen: readonly number[] = []) => {
        const ended = storage.transact?.(async (transaction) => {
          await store.orders.insert(inserts, { transaction });
          for (const n of whileOpen) assert.equal(await store.appData.get(document(n, '').hash), `{"n":${n}}`);
          if (!isCommitted) throw new Error('the host rolls back');
        });
        if (isCommitted) await ended;
        else await assert.rejects(ended ?? Promise.resolve(), /rolls back/);
      };
      await store.appData.put(document(1, '{"n":1}')); // without an order
      await store.orders.insert([use(2, 1)]);
      await join([use(1, 2), use(2, 2), use(3, 2), use(4, 2), use(5, 2)], false, [1, 2]);
      assert.equal(await store.appData.get(document(5, '').hash), undefined);
      await store.orders.insert([use(3, 1)]); // valid for a shorter time
      await join([use(4, 1)], true);
      await join([use(4, 3)], false, [4]);
      for (const n of [1, 2, 3, 4]) assert.equal(await store.appData.get(document(n, '').hash), `{"n":${n}}`);
    },
  },
  {
    name: 'hides the events of a host transaction until it is committed',
    skip: ({ hostTransaction }) => (hostTransaction ? undefined : 'traits.hostTransaction is false'),
    async run({ store, storage }) {
      await place(store, order(1));
      await storage.transact?.(async (transaction) => {
        await store.orders.insert([{ order: order(2) }], { transaction });
        await store.orders.insert([{ order: order(3) }], { transaction });
        assert.equal(await store.events.last(), 1);
        assert.equal((await store.events.after(0, 10)).length, 1);
      });
      assert.deepEqual(
        (await store.events.after(0, 10)).map((event) => event.uid),
        [1, 2, 3].map((n) => order(n).uid),
      );
    },
  },
];
