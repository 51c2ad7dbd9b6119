import assert from 'node:assert/strict';
import type { NewOrder, Store } from 'intentbook';
import { apply, at, placement, read, SELL, trade } from './chain.ts';
import type { Rule } from './harness.ts';
import { ALICE, NOW, PLACED_AT, place } from './orders.ts';

/** An order that a settlement contains and that was never submitted. */
const FOUND: NewOrder = { ...SELL, creationDate: PLACED_AT - 5000 };
const FIRST = trade(SELL, 10, { order: FOUND });
const SECOND = trade(SELL, 11, { sellAmount: '60', order: FOUND });

const listUids = async (store: Store) => (await store.orders.list({ owner: ALICE, limit: 9 })).map(({ uid }) => uid);
const listTypes = async (store: Store) => (await store.events.after(0, 99)).map(({ type }) => type);

/** Rules of orders that the store first sees in a trade. */
export const JUST_IN_TIME: readonly Rule[] = [
  {
    name: 'stores the order of a trade until its block is rolled back',
    async run({ store }) {
      await apply(store, 10, FIRST);
      const { state, executedSellAmount, creationDate, version } = await read(store, SELL);
      assert.deepEqual([state, executedSellAmount, creationDate], ['open', '40', PLACED_AT - 5000]);
      assert.deepEqual(await listUids(store), [SELL.uid]);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
      assert.deepEqual(await store.chain.trades({ filter: { uid: SELL.uid }, limit: 9 }), [FIRST]);
      assert.deepEqual(await listTypes(store), ['created', 'traded']);

      await store.chain.rollback({ to: 9, at: PLACED_AT });
      assert.deepEqual(await store.orders.get([SELL.uid]), []);
      assert.deepEqual(await listUids(store), []);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 0 });
      assert.deepEqual(await listTypes(store), ['created', 'traded', 'reverted', 'reverted']);

      await apply(store, 10, FIRST);
      assert.ok((await read(store, SELL)).version > version, 'a version names one state of a row');
    },
  },
  {
    name: 'keeps the order of the first trade when the second is rolled back',
    async run({ store }) {
      await apply(store, 11, FIRST, SECOND);
      assert.deepEqual((await read(store, SELL)).state, 'fulfilled');
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 0, pending: 0 });
      await store.chain.rollback({ to: 10, at: PLACED_AT });
      const { state, executedSellAmount } = await read(store, SELL);
      assert.deepEqual([state, executedSellAmount], ['open', '40']);
      assert.deepEqual(await store.orders.count(ALICE, NOW), { open: 1, pending: 0 });
    },
  },
  {
    name: 'keeps the row of a submitted order when a trade that contains it is rolled back',
    async run({ store }) {
      await place(store, SELL);
      await apply(store, 10, trade(SELL, 10, { ...at(10), order: FOUND }));
      assert.deepEqual((await read(store, SELL)).creationDate, SELL.creationDate);
      await store.chain.rollback({ to: 9, at: PLACED_AT });
      const { state, executedSellAmount } = await read(store, SELL);
      assert.deepEqual([state, executedSellAmount], ['open', '0']);
      assert.deepEqual(await listTypes(store), ['created', 'traded', 'reverted']);
    },
  },
  {
    name: 'logs a placement on chain that follows the trade which contains its order',
    async run({ store }) {
      await apply(store, 10, FIRST);
      await apply(store, 11, placement(11, { uid: SELL.uid, order: FOUND, userValidTo: NOW + 60 }));
      const { validTo, placement: shown } = await read(store, SELL);
      assert.deepEqual([validTo, shown !== null], [NOW + 60, true]);
      assert.deepEqual(await listTypes(store), ['created', 'traded', 'placed']);
      await store.chain.rollback({ to: 10, at: PLACED_AT });
      assert.equal((await read(store, SELL)).placement, null);
      assert.deepEqual(await listTypes(store), ['created', 'traded', 'placed', 'reverted']);
    },
  },
];
