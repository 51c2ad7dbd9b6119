import assert from 'node:assert/strict';
import type { Rule } from './harness.ts';
import { document, order, place, range, uid } from './orders.ts';

/** Texts that a store could be tempted to parse, trim, escape, reorder or round. */
const BODIES = [
  '{}',
  '{ "b" : 1 ,\n\t"a":2,"b":3 }',
  '{"amounts":[0,9007199254740991,9007199254740992,9007199254740993,9223372036854775807,9223372036854775808]}',
  `{"sellAmount":"${2n ** 256n - 1n}","buyAmount":"${2n ** 63n}","feeAmount":"0","exact":${2n ** 256n - 1n}}`,
  `{"below":"${2n ** 53n - 1n}","above":"${2n ** 53n + 1n}","float":1.0,"exponent":1E400,"minus":-0}`,
  '{"text":"\\u0000 \\ud83d\\ude00 \\" \\\\ \\/ é 漢字 😀 \u2028 \u200f","__proto__":{"constructor":null}}',
  `{"long":"${'x'.repeat(100_000)}"}`,
  `{"quotes":"'; DROP TABLE orders; -- $1 ?1 :a @b %s"}`,
];

export const READ: readonly Rule[] = [
  {
    name: 'returns UIDs in lower case only',
    async run({ store }) {
      await place(store, order(1), order(2));
      const upper = [1, 2].map((n) => `0x${order(n).uid.slice(2).toUpperCase()}` as const);
      for (const uids of [upper.slice(0, 1), upper]) {
        for (const found of await store.orders.get(uids)) assert.equal(found.uid, found.uid.toLowerCase());
      }
    },
  },
  {
    name: 'returns the text of an order byte for byte',
    async run({ store }) {
      await place(store, ...BODIES.map((body, n) => order(n, { body })));
      for (const [n, body] of BODIES.entries()) {
        assert.equal((await store.orders.get([order(n).uid]))[0]?.body, body);
      }
    },
  },
  {
    name: 'returns extreme times exactly and compares them as numbers',
    async run({ store }) {
      const extremes = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
      const dates = [0, 1, 2 ** 31 * 1000, 4_294_967_295_999, 8_640_000_000_000_000];
      const placed = extremes.map((validTo, n) => order(n, { validTo, creationDate: dates[n] ?? 0 }));
      await place(store, ...placed);
      for (const { uid, validTo, creationDate } of placed) {
        const [read] = await store.orders.get([uid]);
        assert.deepEqual([read?.validTo, read?.creationDate], [validTo, creationDate]);
      }
      const listed = await store.orders.list({ limit: 10 });
      assert.deepEqual(
        listed.map(({ creationDate }) => creationDate),
        [...dates].reverse(),
      );
      const open = await store.orders.list({ status: { is: 'open', now: 2 ** 31 }, limit: 10 });
      assert.deepEqual(
        open.map(({ validTo }) => validTo),
        [2 ** 32 - 1, 2 ** 31],
      );
    },
  },
  {
    name: 'returns extreme UIDs and addresses exactly',
    async run({ store }) {
      const full: `0x${string}` = `0x${'ff'.repeat(20)}`;
      const highest = order(1, { uid: `0x${'ff'.repeat(56)}`, owner: full, sellToken: full, buyToken: full });
      const lowest = order(0, { uid: `0x${'00'.repeat(56)}` });
      await place(store, lowest, highest);
      assert.deepEqual(
        (await store.orders.list({ limit: 10 })).map((read) => read.uid),
        [highest.uid, lowest.uid],
      );
      assert.equal((await store.orders.list({ owner: full, sellToken: full, buyToken: full, limit: 10 })).length, 1);
      assert.equal((await store.events.after(1, 1))[0]?.owner, full);
    },
  },
  {
    name: 'returns each known order once in a batch read and omits unknown ones',
    async run({ store }) {
      await place(store, order(1), order(2), order(3));
      const read = await store.orders.get([order(2).uid, uid(99), order(1).uid, order(2).uid, uid(98), order(2).uid]);
      assert.deepEqual(read.map((each) => each.uid).sort(), [order(1).uid, order(2).uid]);
      assert.deepEqual(await store.orders.get([uid(99)]), []);
      assert.deepEqual(await store.orders.get([]), []);
    },
  },
  {
    name: 'returns the orders of a batch read with their bodies as bytes',
    async run({ store }) {
      if (store.orders.getEncoded === undefined) return; // optional
      await place(store, order(1), order(2), order(3));
      for (const uids of [[], [uid(99)], [order(2).uid], [order(1).uid, uid(99), order(3).uid, order(1).uid]]) {
        const encoded = await store.orders.getEncoded(uids);
        assert.deepEqual(
          encoded.map((each) => each.order),
          await store.orders.get(uids),
        );
        for (const each of encoded) {
          if (each.encodedBody === undefined) continue;
          assert.equal(new TextDecoder().decode(each.encodedBody), each.order.body);
        }
      }
    },
  },
  {
    name: 'accepts any number of UIDs in a batch read',
    async run({ store }) {
      await place(store, ...range(400).map((n) => order(n)));
      for (const size of [1, 2, 15, 16, 17, 127, 128, 129, 256, 257, 400]) {
        const wanted = range(size).map((n) => order(n).uid);
        const read = await store.orders.get(wanted.flatMap((each) => [each, each]));
        assert.deepEqual(read.map((each) => each.uid).sort(), wanted, `${size} orders`);
      }
    },
  },
  {
    name: 'returns the same order by single read, batch read and listing',
    async run({ store }) {
      const placed = order(1, { appData: document(1, '').hash });
      await store.orders.insert([{ order: placed, document: document(1, '{"a":1}') }]);
      await place(store, order(2));
      const [single] = await store.orders.get([placed.uid]);
      const batch = await store.orders.get([order(2).uid, placed.uid]);
      const listed = await store.orders.list({ limit: 10 });
      assert.equal(single?.fullAppData, '{"a":1}');
      for (const orders of [batch, listed]) {
        assert.deepEqual(
          orders.find((each) => each.uid === placed.uid),
          single,
        );
      }
    },
  },
];
