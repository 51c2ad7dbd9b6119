import assert from 'node:assert/strict';
import type { ChainEvent, ChainEventPruneRequest, NewOrder, SettlementChainEvent, Store } from 'intentbook';
import { at, PLACED, placement, trade } from './chain.ts';
import type { Rule } from './harness.ts';
import { ALICE, BOB, document, NOW, order, PLACED_AT, place, range, word } from './orders.ts';

const ALL = 1000;
/** Time after the end of all orders of the suite, and after a week more, in seconds. */
const LATE = NOW + 1_000_000;
const FOREVER = LATE * 1000;

const settlement = (number: number): SettlementChainEvent => ({
  type: 'settlement',
  ...at(number, 9),
  solver: ALICE,
  auctionId: number,
});

/** Stores chain events and the hashes of the blocks from `forgetBelow` on. */
async function index(store: Store, forgetBelow: number, ...events: ChainEvent[]): Promise<void> {
  const last = events.at(-1);
  assert.ok(last !== undefined);
  const through = { number: Math.max(last.blockNumber, forgetBelow), hash: last.blockHash };
  const outcome = await store.chain.apply({ events, blocks: [], through, forgetBelow, at: PLACED_AT });
  assert.equal(outcome.status, 'applied');
}

/** Removes chain events in steps. @returns the number of removed events. */
async function pruneChainEvents(store: Store, request: Omit<ChainEventPruneRequest, 'after'>): Promise<number> {
  let removed = 0;
  let after: ChainEventPruneRequest['after'];
  do {
    const outcome = await store.retention.pruneChainEvents(after === undefined ? request : { ...request, after });
    removed += outcome.removed;
    after = outcome.next;
  } while (after !== undefined);
  return removed;
}

const tradesOf = (store: Store, { uid }: NewOrder) => store.chain.trades({ filter: { uid }, limit: ALL });

export const RETENTION: readonly Rule[] = [
  {
    name: 'deletes old log entries from the start of the log and keeps the ids of the others',
    async run({ store }) {
      await place(store, ...range(6).map((n) => order(n, { creationDate: PLACED_AT + n })));
      await place(store, order(9, { creationDate: PLACED_AT - 5 }));
      const all = await store.events.after(0, ALL);
      const through = all.at(-1)?.id ?? 0;
      assert.equal(await store.retention.prunedThrough(), 0);
      assert.equal(await store.retention.pruneEvents({ before: PLACED_AT, through, limit: ALL }), 0);
      assert.equal(await store.retention.pruneEvents({ before: FOREVER, through, limit: 2 }), 2);
      assert.equal(await store.retention.prunedThrough(), 2);
      assert.deepEqual(await store.events.after(0, ALL), all.slice(2));
      assert.deepEqual(await store.events.after(3, 2), all.slice(3, 5));

      // The last entry is older than the one before it, which is kept.
      assert.equal(await store.retention.pruneEvents({ before: PLACED_AT + 5, through, limit: ALL }), 3);
      assert.deepEqual(await store.events.after(0, ALL), all.slice(5));
    },
  },
  {
    name: 'deletes no log entry above a position, and never the newest',
    async run({ store, open }) {
      await place(store, ...range(5).map((n) => order(n)));
      const last = await store.events.last();
      assert.equal(await store.retention.pruneEvents({ before: FOREVER, through: 3, limit: ALL }), 3);
      assert.equal(await store.retention.prunedThrough(), 3);
      assert.equal(await store.retention.pruneEvents({ before: FOREVER, through: last, limit: ALL }), 1);
      assert.equal(await store.retention.pruneEvents({ before: FOREVER, through: last, limit: ALL }), 0);
      assert.equal(await store.events.last(), last);
      assert.deepEqual(
        (await store.events.after(0, ALL)).map(({ id }) => id),
        [last],
      );

      await place(store, order(7));
      assert.equal(await store.events.last(), last + 1);
      assert.equal((await store.events.after(last, ALL)).length, 1);
      await store.close();
      const reopened = await open();
      assert.equal(await reopened.retention.prunedThrough(), last - 1);
      assert.equal(await reopened.events.last(), last + 1);
    },
  },
  {
    name: 'deletes each log entry once under concurrent calls and writes',
    async run({ store, writers }) {
      await place(store, ...range(40).map((n) => order(n)));
      assert.equal(await store.events.last(), 40);
      const prune = (each: Store) => each.retention.pruneEvents({ before: FOREVER, through: 30, limit: 4 });
      const steps = range(4).flatMap((n) =>
        writers.map(async (each) => {
          await place(each, order(100 + n * writers.length + writers.indexOf(each), { owner: BOB }));
          return prune(each);
        }),
      );
      let removed = (await Promise.all(steps)).reduce((sum, count) => sum + count, 0);
      for (let count = await prune(store); count > 0; count = await prune(store)) removed += count;
      assert.equal(removed, 30);
      const left = await store.events.after(0, ALL);
      const last = await store.events.last();
      assert.equal(last, 40 + steps.length);
      assert.deepEqual(
        left.map(({ id }) => id),
        range(last - 30).map((n) => n + 31),
      );
    },
  },
  {
    name: 'deletes chain events of orders that ended and are no longer stored',
    async run({ store }) {
      const gone = order(1, { validTo: NOW + 10 });
      const [stored, long] = [order(2), order(3, { validTo: LATE + 10 })];
      await place(store, gone, stored);
      await index(store, 50, trade(gone, 1), settlement(1), trade(stored, 2), settlement(2), trade(long, 3));
      assert.equal(await store.orders.prune({ before: NOW + 20, limit: ALL }), 1);

      assert.equal(await pruneChainEvents(store, { before: NOW + 1, limit: ALL }), 0);
      assert.equal(await pruneChainEvents(store, { before: LATE, limit: 2 }), 2);
      assert.deepEqual(await tradesOf(store, gone), []);
      assert.equal((await tradesOf(store, stored)).length, 1);
      assert.equal((await tradesOf(store, long)).length, 1);
      assert.deepEqual(await store.chain.settlements(at(1).transactionHash), []);
      assert.deepEqual(await store.chain.settlements(at(2).transactionHash), [settlement(2)]);
      // The state of the stored order and the first trade of a token stay.
      assert.equal((await store.orders.get([stored.uid]))[0]?.executedSellAmount, '40');
      assert.equal(await store.chain.firstTrade(trade(gone, 1).sellToken), 1);
      assert.equal(await pruneChainEvents(store, { before: LATE, limit: ALL }), 0);
    },
  },
  {
    name: 'deletes chain events of orders placed on chain after the validity of their placement',
    async run({ store }) {
      // Signed without an end: the contract that has placed the order limits its validity.
      const unlimited = order(7, { validTo: 2 ** 32 - 1 });
      const refund = { type: 'refund', ...at(3), uid: PLACED.uid } as const;
      await index(store, 50, placement(1), trade(PLACED, 2), refund, trade(unlimited, 5));
      const ended = PLACED.validTo + 1;
      assert.equal(await pruneChainEvents(store, { before: ended, limit: ALL }), 0);
      await store.orders.expire(ended, ALL);
      assert.equal(await store.orders.prune({ before: ended, limit: ALL }), 1);
      assert.equal(await pruneChainEvents(store, { before: PLACED.validTo, limit: ALL }), 0);
      // The placement shows when the order has ended, so it is deleted after the other events.
      assert.equal(await pruneChainEvents(store, { before: ended, limit: ALL }), 2);
      assert.deepEqual(await tradesOf(store, PLACED), []);
      assert.equal(await pruneChainEvents(store, { before: ended, limit: ALL }), 1);
      assert.equal(await pruneChainEvents(store, { before: LATE, limit: ALL }), 0);
      assert.equal((await tradesOf(store, unlimited)).length, 1);
    },
  },
  {
    name: 'lists trades of an account whose order, placed on chain, was deleted',
    async run({ store }) {
      await index(store, 50, placement(1), trade(PLACED, 2));
      const ended = PLACED.validTo + 1;
      await store.orders.expire(ended, ALL);
      assert.equal(await store.orders.prune({ before: ended, limit: ALL }), 1);
      for (const account of [BOB, PLACED.owner]) {
        assert.deepEqual(await store.chain.trades({ filter: { account }, limit: ALL }), [trade(PLACED, 2)]);
      }
    },
  },
  {
    name: 'keeps chain events of blocks that may be rolled back',
    async run({ store }) {
      const gone = order(1);
      await index(store, 5, trade(gone, 4), trade(gone, 5), trade(gone, 6));
      assert.equal(await pruneChainEvents(store, { before: LATE, limit: ALL }), 1);
      assert.deepEqual(
        (await tradesOf(store, gone)).map(({ blockNumber }) => blockNumber),
        [6, 5],
      );
      const outcome = await store.chain.rollback({ to: 5, at: PLACED_AT });
      assert.equal(outcome.status === 'rolledBack' && outcome.removed, 1);
    },
  },
  {
    name: 'examines a limited number of chain events in each step',
    async run({ store }) {
      const orders = range(7).map((n) => order(n + 1));
      await place(store, ...orders.filter((_, n) => n % 2 === 0));
      await index(store, 50, ...orders.map((each, n) => trade(each, n + 1)));
      const first = await store.retention.pruneChainEvents({ before: LATE, limit: 3 });
      assert.deepEqual(first, { removed: 1, next: { blockNumber: 3, logIndex: 0 } });
      assert.equal(await pruneChainEvents(store, { before: LATE, limit: 3 }), 2);
    },
  },
  {
    name: 'deletes documents of orders that ended and keeps the others',
    async run({ store }) {
      const [old, shared, unused] = [document(1, '{"n":1}'), document(2, '{"n":2}'), document(3, '{"n":3}')];
      const short = [order(1, { appData: old.hash }), order(2, { appData: shared.hash })];
      const long = order(3, { appData: shared.hash, validTo: LATE + 3600 });
      const [oldShort, sharedShort] = short;
      assert.ok(oldShort !== undefined && sharedShort !== undefined);
      await store.orders.insert([
        { order: oldShort, document: old },
        { order: sharedShort, document: shared },
        { order: long },
      ]);
      await store.appData.put(unused);
      const uids = short.map(({ uid }) => uid);
      await store.orders.cancel({ uids, now: NOW, cancelledAt: PLACED_AT });
      assert.equal(await store.orders.prune({ before: LATE, limit: ALL }), 2);
      assert.equal(await store.retention.pruneDocuments({ before: NOW, limit: ALL }), 0);
      assert.equal(await store.retention.pruneDocuments({ before: LATE, limit: ALL }), 1);
      assert.equal(await store.appData.get(old.hash), undefined);
      assert.equal((await store.orders.get([long.uid]))[0]?.fullAppData, shared.document);
      assert.equal(await store.appData.get(unused.hash), unused.document);

      // A later order stores the document again.
      const late = order(4, { appData: old.hash, validTo: LATE + 3600 });
      await store.orders.insert([{ order: late, document: old }]);
      assert.equal(await store.retention.pruneDocuments({ before: LATE, limit: ALL }), 0);
      assert.equal((await store.orders.get([late.uid]))[0]?.fullAppData, old.document);
    },
  },
  {
    name: 'keeps the document of an order whose placement on chain is later than its end',
    async run({ store }) {
      const { hash, document: text } = document(1, '{"n":1}');
      await store.appData.put({ hash, document: text });
      const late = order(1, { appData: hash, creationDate: LATE * 1000 });
      await index(store, 50, placement(10, { uid: late.uid, order: late }));
      assert.equal(await store.retention.pruneDocuments({ before: LATE, limit: ALL }), 0);
      assert.equal((await store.orders.get([late.uid]))[0]?.fullAppData, text);
    },
  },
  {
    name: 'deletes documents in steps, and extends their use with each order',
    async run({ store }) {
      const documents = range(5).map((n) => document(n + 1, `{"n":${n}}`));
      for (const [n, each] of documents.entries())
        await store.appData.put({ hash: word(n + 1), document: each.document });
      const insert = (n: number, validTo: number) =>
        store.orders.insert([{ order: order(100 * n + validTo, { appData: word(n + 1), validTo }) }]);
      for (const n of range(5)) await insert(n, NOW + 3600);
      await insert(0, LATE + 3600);
      assert.equal(await store.retention.pruneDocuments({ before: LATE, limit: 3 }), 3);
      assert.equal(await store.retention.pruneDocuments({ before: LATE, limit: 3 }), 1);
      assert.equal(await store.appData.get(word(1)), '{"n":0}');
    },
  },
];
