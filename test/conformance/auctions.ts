import assert from 'node:assert/strict';
import type { Hex } from 'intentbook';
import type { Rule } from './harness.ts';
import { range } from './orders.ts';

/** Texts with significant whitespace, to show that they are stored unchanged. */
const auction = (block: number) => ({ block, prices: `{ "0x${'e1'.repeat(20)}": "${block}" }` });
const competition = (auctionId: number, value = auctionId, deadline = 10) => {
  return { auctionId, deadline, body: `{ "value": ${value} }` };
};
/** A competition with the orders of its auction. */
const complete = (...parameters: Parameters<typeof competition>) => {
  return { ...competition(...parameters), orders: uidOf(parameters[1] ?? parameters[0]) };
};
const uidOf = (n: number): Hex => `0x${String(n).padStart(112, '0')}`;

export const AUCTIONS: readonly Rule[] = [
  {
    name: 'gives out ascending auction ids, each once, across callers and after removals',
    async run({ store, writers }) {
      const first = await store.auctions.insert(auction(1), 1, 1);
      const ids = await Promise.all(
        range(20).map((n) => writers[n % writers.length]?.auctions.insert(auction(n), 2, 1)),
      );
      assert.equal(new Set([first, ...ids]).size, 21);
      assert.ok(ids.every((id) => Number.isSafeInteger(id) && Number(id) > first));
      const last = await store.auctions.insert(auction(3), 1, 1);
      assert.ok(ids.every((id) => Number(id) < last));
    },
  },
  {
    name: 'assigns no auction id below the least one, and none twice',
    async run({ store, writers }) {
      const first = await store.auctions.insert(auction(1), 5, 1);
      assert.equal(await store.auctions.insert(auction(2), 5, first + 1000), first + 1000);
      assert.equal(await store.auctions.insert(auction(3), 1, first), first + 1001);
      const ids = await Promise.all(
        range(10).map((n) => writers[n % writers.length]?.auctions.insert(auction(n), 20, first + 1000 + n)),
      );
      assert.equal(new Set([...ids, first + 1001]).size, 11);
    },
  },
  {
    name: 'finds competitions by their deadline, the highest id first',
    async run({ store }) {
      const deadlines = [5, 9, 7, 9, 4];
      for (const [i, deadline] of deadlines.entries()) await store.auctions.record(complete(i + 1, 0, deadline), 9);
      const find = async (query: object) => {
        const found = await store.auctions.competitions({ limit: 9, ...query });
        return found.map(({ auctionId, deadline }) => [auctionId, deadline]);
      };
      const pending = [
        [4, 9],
        [3, 7],
        [2, 9],
      ];
      assert.deepEqual(await find({ deadlineAbove: 5 }), pending);
      assert.deepEqual(await find({ deadlineAbove: 5, limit: 1 }), pending.slice(0, 1));
      assert.deepEqual(await find({ deadlineAbove: 5, deadlineBelow: 9 }), pending.slice(1, 2));
      assert.deepEqual(await find({ deadlineBelow: 5 }), [[5, 4]]);
      await store.auctions.record(complete(4, 0, 1), 9);
      assert.deepEqual(await find({ deadlineAbove: 7 }), [[2, 9]]);
    },
  },
  {
    name: 'returns an auction by its id with its texts unchanged until newer auctions replace it',
    async run({ store }) {
      const ids: number[] = [];
      for (const block of [7, 8, 9]) ids.push(await store.auctions.insert(auction(block), 2, 1));
      const [gone = 0, ...kept] = ids;
      assert.equal(await store.auctions.get(gone), undefined);
      assert.deepEqual(
        await Promise.all(kept.map((id) => store.auctions.get(id))),
        kept.map((id, i) => ({ id, ...auction(8 + i) })),
      );
      assert.equal(await store.auctions.get(Number.MAX_SAFE_INTEGER), undefined);
    },
  },
  {
    name: 'records one competition per auction, keeps the later record and retains the highest ids',
    async run({ store }) {
      const { auctions } = store;
      assert.equal(await auctions.lastCompetition(), 0);
      assert.equal(await auctions.record(complete(5), 3), 'recorded');
      assert.equal(await auctions.record(complete(2), 3), 'recorded');
      assert.equal(await auctions.record(complete(5, 55), 3), 'replaced');
      assert.deepEqual(await auctions.competition(5), complete(5, 55));
      assert.equal(await auctions.competition(4), undefined);
      assert.equal(await auctions.lastCompetition(), 5);
      assert.deepEqual(await auctions.competitions({ limit: 10 }), [competition(5, 55), competition(2)]);
      assert.deepEqual(await auctions.competitions({ limit: 1 }), [competition(5, 55)]);
      for (const id of [9, 7]) await auctions.record(complete(id), 3);
      assert.deepEqual(
        (await auctions.competitions({ limit: 10 })).map(({ auctionId }) => auctionId),
        [9, 7, 5],
      );
      assert.equal(await auctions.competition(2), undefined);
    },
  },
  {
    name: 'returns the orders of a competition as they were recorded, also without any',
    async run({ store: { auctions } }) {
      const orders: Hex = `0x${range(300)
        .map((n) => uidOf(n).slice(2))
        .join('')}`;
      const subjects = [
        { ...complete(1), orders },
        { ...complete(2), orders: '0x' as const },
        { ...complete(3), orders: undefined },
      ];
      for (const each of subjects) await auctions.record(each, 9);
      for (const each of subjects) assert.deepEqual(await auctions.competition(each.auctionId), each);
      assert.deepEqual(await auctions.competitions({ limit: 9 }), [competition(3), competition(2), competition(1)]);
      await auctions.record(complete(1), 9);
      assert.deepEqual(await auctions.competition(1), complete(1));
    },
  },
];
