import assert from 'node:assert/strict';
import type { Rule } from './harness.ts';
import { range } from './orders.ts';

/** Texts with significant whitespace, to show that they are stored unchanged. */
const auction = (block: number) => ({ block, prices: `{ "0x${'e1'.repeat(20)}": "${block}" }` });
const competition = (auctionId: number, value = auctionId) => ({ auctionId, body: `{ "value": ${value} }` });

export const AUCTIONS: readonly Rule[] = [
  {
    name: 'gives out ascending auction ids, each once, across callers and after removals',
    async run({ store, writers }) {
      const first = await store.auctions.insert(auction(1), 1);
      const ids = await Promise.all(range(20).map((n) => writers[n % writers.length]?.auctions.insert(auction(n), 2)));
      assert.equal(new Set([first, ...ids]).size, 21);
      assert.ok(ids.every((id) => Number.isSafeInteger(id) && Number(id) > first));
      const last = await store.auctions.insert(auction(3), 1);
      assert.ok(ids.every((id) => Number(id) < last));
    },
  },
  {
    name: 'returns an auction by its id with its texts unchanged until newer auctions replace it',
    async run({ store }) {
      const ids: number[] = [];
      for (const block of [7, 8, 9]) ids.push(await store.auctions.insert(auction(block), 2));
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
      assert.equal(await auctions.record(competition(5), 3), 'recorded');
      assert.equal(await auctions.record(competition(2), 3), 'recorded');
      assert.equal(await auctions.record(competition(5, 55), 3), 'replaced');
      assert.deepEqual(await auctions.competition(5), competition(5, 55));
      assert.equal(await auctions.competition(4), undefined);
      assert.deepEqual(await auctions.competitions(10), [competition(5, 55), competition(2)]);
      assert.deepEqual(await auctions.competitions(1), [competition(5, 55)]);
      for (const id of [9, 7]) await auctions.record(competition(id), 3);
      assert.deepEqual(
        (await auctions.competitions(10)).map(({ auctionId }) => auctionId),
        [9, 7, 5],
      );
      assert.equal(await auctions.competition(2), undefined);
    },
  },
];
