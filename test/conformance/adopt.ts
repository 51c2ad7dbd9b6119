import assert from 'node:assert/strict';
import type { Hex, OrderChainEvent, Store } from 'intentbook';
import { UNKNOWN_HASH } from 'intentbook';
import { at, batch, invalidation, presignature, SELL, trade } from './chain.ts';
import type { Rule } from './harness.ts';
import { NOW, order, PLACED_AT, place, presignOrder, uid } from './orders.ts';

const SEEN_AT = PLACED_AT + 5000;

/** Returns an event as another book reports it: the hash of its block is not known. */
const reported = <T extends OrderChainEvent>(event: T): T => ({ ...event, blockHash: UNKNOWN_HASH, timestamp: null });

/** Returns an event with an unknown position. */
const unplaced = <T extends OrderChainEvent>(event: T): T => ({
  ...reported(event),
  blockNumber: 0,
  logIndex: 0,
  transactionHash: UNKNOWN_HASH,
});

const find = async (store: Store, uid: Hex) => {
  const [found] = await store.orders.get([uid]);
  return found && [found.state, found.executedSellAmount, found.executedBuyAmount];
};

const listEvents = async (store: Store) =>
  (await store.events.after(0, 100)).map(({ type, at: time, cause }) => [type, time, cause?.position.blockNumber]);

export const ADOPT: readonly Rule[] = [
  {
    name: 'reverts the adopted events of a complete order that the other book lacks, and keeps indexed ones',
    async run({ store }) {
      const presigned = presignOrder(2);
      await place(store, SELL, presigned, order(3));
      await store.chain.apply(batch(4, trade(SELL, 4, { sellAmount: '10', buyAmount: '5' })));
      await store.chain.adopt(
        [reported(trade(SELL, 5)), unplaced(presignature(presigned, 0, true)), unplaced(invalidation(order(3), 0))],
        SEEN_AT,
      );
      assert.deepEqual(await find(store, SELL.uid), ['open', '50', '25']);
      // The fill was mined again in another block, the presignature was revoked, the invalidation was reorganised away.
      const complete = [SELL.uid, presigned.uid, order(3).uid];
      assert.equal(await store.chain.adopt([reported(trade(SELL, 6))], SEEN_AT + 1, complete), 3);
      assert.equal(await store.chain.adopt([reported(trade(SELL, 6))], SEEN_AT + 2, complete), 0);
      assert.deepEqual(await find(store, SELL.uid), ['open', '50', '25']);
      assert.deepEqual(await find(store, presigned.uid), ['presignaturePending', '0', '0']);
      assert.deepEqual(await find(store, order(3).uid), ['open', '0', '0']);
      const types = (await store.events.after(3, 100)).map(({ type, uid: of }) => [type, of]);
      assert.deepEqual(
        types.filter(([, of]) => of === SELL.uid).map(([type]) => type),
        ['traded', 'traded', 'reverted', 'traded'],
      );
      assert.deepEqual(types.filter(([type]) => type === 'reverted').length, 3);
      assert.equal((await store.chain.trades({ filter: { uid: SELL.uid }, limit: 10 })).length, 2);
    },
  },
  {
    name: 'keeps an adopted trade of a complete order whose new index another order has',
    async run({ store }) {
      const later = order(3);
      await place(store, SELL, later);
      const report = (of: typeof SELL, logIndex: number) => reported(trade(of, 5, { logIndex }));
      await store.chain.adopt([report(SELL, 1), report(later, 2)], SEEN_AT);
      // The block was replaced by one with one log less, and the later order is read first.
      assert.equal(await store.chain.adopt([report(later, 1)], SEEN_AT, [later.uid]), 0);
      assert.deepEqual(await find(store, later.uid), ['fulfilled', '40', '20']);
      assert.equal(await store.chain.adopt([report(SELL, 0)], SEEN_AT, [SELL.uid]), 1);
      assert.equal(await store.chain.adopt([report(later, 1)], SEEN_AT, [later.uid]), 1);
      assert.deepEqual(await find(store, SELL.uid), ['open', '40', '20']);
      assert.deepEqual(await find(store, later.uid), ['fulfilled', '40', '20']);
      const [first] = await store.chain.trades({ filter: { uid: later.uid }, limit: 10 });
      assert.equal(first?.logIndex, 1);
    },
  },
  {
    name: 'adds a quote to an order that has none, once, and increments the version of the order',
    async run({ store }) {
      const quote = { body: '{"gasAmount":"1"}', metadata: '{}' };
      const quoted = order(2, { quote });
      await place(store, SELL, quoted);
      await store.chain.adopt([reported(trade(SELL, 5))], SEEN_AT);
      const [before] = await store.orders.get([SELL.uid]);
      const last = await store.events.last();
      const other = { body: '{"gasAmount":"2.5"}', metadata: '{"version":"1.0"}' };
      assert.equal(await store.orders.addQuote(SELL.uid, other), true);
      assert.equal(await store.orders.addQuote(SELL.uid, quote), false);
      assert.equal(await store.orders.addQuote(quoted.uid, other), false);
      assert.equal(await store.orders.addQuote(uid(99), other), false);
      const [added] = await store.orders.get([SELL.uid]);
      assert.deepEqual(added, before && { ...before, quote: other, version: before.version + 1 });
      assert.deepEqual(
        (await store.orders.get([quoted.uid])).map((each) => [each.quote, each.version]),
        [[quote, 1]],
      );
      assert.equal(await store.events.last(), last);
    },
  },
  {
    name: 'projects an adopted trade, with an event and without a checkpoint',
    async run({ store }) {
      await place(store, SELL);
      assert.equal(await store.chain.adopt([reported(trade(SELL, 5))], SEEN_AT), 1);
      assert.deepEqual(await find(store, SELL.uid), ['open', '40', '20']);
      assert.deepEqual(await listEvents(store), [
        ['created', PLACED_AT, undefined],
        ['traded', SEEN_AT, 5],
      ]);
      assert.equal((await store.chain.progress()).indexedBlock, null);
      assert.equal((await store.chain.trades({ filter: { uid: SELL.uid }, limit: 10 })).length, 1);
    },
  },
  {
    name: 'skips an adopted event that is known, or at the position of another one',
    async run({ store }) {
      await place(store, SELL);
      await store.chain.apply(batch(6, trade(SELL, 5)));
      const other = reported(trade(SELL, 5, { sellAmount: '41' }));
      assert.equal(await store.chain.adopt([reported(trade(SELL, 5)), other], SEEN_AT), 0);
      assert.equal(await store.chain.adopt([reported(trade(SELL, 7)), reported(trade(SELL, 7))], SEEN_AT), 1);
      assert.deepEqual(await find(store, SELL.uid), ['open', '80', '40']);
    },
  },
  {
    name: 'confirms an adopted trade when it is indexed: once, without another event',
    async run({ store }) {
      await place(store, SELL);
      await store.chain.apply(batch(3));
      await store.chain.adopt([reported(trade(SELL, 5))], SEEN_AT);
      assert.equal((await store.chain.apply(batch(6, trade(SELL, 5)))).status, 'applied');
      assert.deepEqual(await find(store, SELL.uid), ['open', '40', '20']);
      assert.equal((await listEvents(store)).length, 2);
      const [confirmed] = await store.chain.trades({ filter: { uid: SELL.uid }, limit: 10 });
      assert.deepEqual([confirmed?.blockHash, confirmed?.executedFee], [at(5).blockHash, '3']);
    },
  },
  {
    name: 'reverts an adopted trade that the blocks after the checkpoint do not have',
    async run({ store }) {
      await place(store, SELL);
      await store.chain.apply(batch(3));
      const [gone, other, later] = [
        reported(trade(SELL, 4, { sellAmount: '10', buyAmount: '5' })),
        reported(trade(SELL, 5, { sellAmount: '11', buyAmount: '5' })),
        reported(trade(SELL, 9, { sellAmount: '12', buyAmount: '5' })),
      ];
      await store.chain.adopt([gone, other, later], SEEN_AT);
      assert.equal((await store.chain.apply(batch(6, trade(SELL, 5)))).status, 'applied');
      assert.deepEqual(await find(store, SELL.uid), ['open', '52', '25']);
      const types = (await listEvents(store)).map(([type, , block]) => `${type} ${block}`);
      assert.deepEqual(types.slice(-3), ['reverted 5', 'reverted 4', 'traded 5']);
    },
  },
  {
    name: 'keeps adopted history before the first indexed block',
    async run({ store }) {
      await place(store, SELL);
      await store.chain.adopt([reported(trade(SELL, 5))], SEEN_AT);
      await store.chain.apply(batch(100));
      await store.chain.apply(batch(101));
      assert.deepEqual(await find(store, SELL.uid), ['open', '40', '20']);
    },
  },
  {
    name: 'adopts events with an unknown position before all others, once for each order and type',
    async run({ store }) {
      const [ended, signed, revoked] = [order(2), presignOrder(3), presignOrder(4)];
      await place(store, ended, signed, revoked);
      const facts = [unplaced(invalidation(ended, 1)), unplaced(presignature(signed, 1, true))];
      assert.equal(await store.chain.adopt(facts, SEEN_AT), 2);
      assert.equal(await store.chain.adopt([...facts, unplaced(presignature(revoked, 1, true))], SEEN_AT), 1);
      await store.chain.apply(batch(6, presignature(revoked, 5, false)));
      assert.deepEqual((await find(store, ended.uid))?.[0], 'cancelled');
      assert.deepEqual((await find(store, signed.uid))?.[0], 'open');
      assert.deepEqual((await find(store, revoked.uid))?.[0], 'presignaturePending');
      assert.deepEqual(await store.orders.count(ended.owner, NOW), { open: 1, pending: 1 });
    },
  },
  {
    name: 'keeps adopted events of an order that is not stored for its insert',
    async run({ store }) {
      await store.chain.adopt([reported(trade(SELL, 5)), unplaced(invalidation(SELL, 1))], SEEN_AT);
      assert.deepEqual(await listEvents(store), []);
      await place(store, SELL);
      assert.deepEqual(await find(store, SELL.uid), ['cancelled', '40', '20']);
    },
  },
  {
    name: 'replaces an adopted trade whose fee has become known, without an event',
    async run({ store }) {
      await place(store, SELL);
      const unknown = reported({ ...trade(SELL, 5), executedFee: null });
      await store.chain.adopt([unknown], SEEN_AT);
      const before = await store.events.after(0, 100);
      assert.equal(await store.chain.adopt([{ ...unknown, executedFee: '7' }], SEEN_AT + 1), 1);
      assert.equal(await store.chain.adopt([{ ...unknown, executedFee: '7' }], SEEN_AT + 2), 0);
      assert.equal(await store.chain.adopt([unknown], SEEN_AT + 2), 0); // what is known is not forgotten
      const [found] = await store.orders.get([SELL.uid]);
      const signedFee = Number(found?.executedFeeAmount);
      assert.deepEqual([found?.executedFee, found?.executedSellAmount], [String(signedFee + 7), '40']);
      assert.deepEqual(await store.events.after(0, 100), before);
      assert.equal((await store.chain.trades({ filter: { uid: SELL.uid }, limit: 10 })).length, 1);
      await store.chain.apply(batch(3));
      await store.chain.apply(batch(6, trade(SELL, 5)));
      assert.equal(await store.chain.adopt([{ ...unknown, executedFee: '9' }], SEEN_AT + 3), 0);
    },
  },
  {
    name: 'takes no adopted event for the hash of its block',
    async run({ store }) {
      await place(store, SELL, order(2));
      await store.chain.adopt([reported(trade(SELL, 5))], SEEN_AT);
      const other = { ...invalidation(order(2), 5), ...at(5, 3) };
      assert.equal((await store.chain.apply(batch(6, other))).status, 'applied');
    },
  },
];
