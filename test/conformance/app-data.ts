import assert from 'node:assert/strict';
import type { Rule } from './harness.ts';
import { document, order, place, range } from './orders.ts';

const TEXTS = [
  '{}',
  '{"version":"1.3.0","metadata":{}}',
  ' {"a" :\t1,\r\n"b":"\n"}\n',
  '{"text":"é 漢字 😀 \u2028\u2029\u00a0\u200f\ufeff \u007f"}',
  '\ufeff{"starts":"with a byte order mark"}',
  '{"escaped":"\\u0000\\ud83d \\" \\\\"}',
  `{"long":"${'é'.repeat(8192)}"}`,
];

export const APP_DATA: readonly Rule[] = [
  {
    name: 'returns a document unchanged, and undefined for an unknown hash',
    async run({ store }) {
      for (const [n, text] of TEXTS.entries()) {
        assert.equal(await store.appData.get(document(n, '').hash), undefined);
        assert.equal(await store.appData.put(document(n, text)), 'stored');
        assert.equal(await store.appData.get(document(n, '').hash), text);
      }
    },
  },
  {
    name: 'keeps the first version of a document',
    async run({ store }) {
      assert.equal(await store.appData.put(document(1, '{"first":1}')), 'stored');
      assert.equal(await store.appData.put(document(1, '{"second":2}')), 'known');
      const insert = { order: order(1, { appData: document(1, '').hash }), document: document(1, '{"third":3}') };
      assert.deepEqual(await store.orders.insert([insert]), [{ status: 'inserted' }]);
      assert.equal(await store.appData.get(document(1, '').hash), '{"first":1}');
      assert.equal((await store.orders.get([order(1).uid]))[0]?.fullAppData, '{"first":1}');
    },
  },
  {
    name: 'stores a document in exactly one of several concurrent writes',
    async run({ writers }) {
      const outcomes = await Promise.all(
        range(20).map(async (n) => await writers[n % writers.length]?.appData.put(document(1, '{}'))),
      );
      assert.equal(outcomes.filter((outcome) => outcome === 'stored').length, 1);
    },
  },
  {
    name: 'stores a document with its order and returns both unchanged',
    async run({ store }) {
      const inserts = TEXTS.map((text, n) => ({
        order: order(n, { appData: document(n, '').hash }),
        document: document(n, text),
      }));
      await store.orders.insert(inserts);
      for (const [n, text] of TEXTS.entries()) {
        assert.equal((await store.orders.get([order(n).uid]))[0]?.fullAppData, text);
        assert.equal(await store.appData.get(document(n, '').hash), text);
      }
    },
  },
  {
    name: 'shares a document between orders',
    async run({ store }) {
      const [first, second] = [1, 2].map((n) => order(n, { appData: document(7, '').hash }));
      if (first === undefined || second === undefined) throw new Error('two orders are made above');
      await store.orders.insert([{ order: first, document: document(7, '{"shared":true}') }]);
      await place(store, second);
      const listed = await store.orders.list({ limit: 10 });
      assert.deepEqual(
        listed.map(({ fullAppData }) => fullAppData),
        ['{"shared":true}', '{"shared":true}'],
      );
    },
  },
  {
    name: 'keeps a limited number of documents without an order, the newest',
    async run({ store }) {
      for (const n of range(6)) assert.equal(await store.appData.put(document(n, `{"n":${n}}`), 3), 'stored');
      const kept = await Promise.all(range(6).map(async (n) => await store.appData.get(document(n, '').hash)));
      assert.deepEqual(kept, [undefined, undefined, undefined, '{"n":3}', '{"n":4}', '{"n":5}']);
      assert.equal(await store.appData.put(document(4, '{}'), 3), 'known');
      assert.equal(await store.appData.get(document(3, '').hash), '{"n":3}');
      assert.equal(await store.appData.put(document(0, '{"again":0}'), 3), 'stored');
      assert.equal(await store.appData.get(document(3, '').hash), undefined);
    },
  },
  {
    name: 'never drops a document with an order, whether the order brought it or found it',
    async run({ store }) {
      const referring = (n: number) => order(n, { appData: document(n, '').hash });
      await store.orders.insert([{ order: referring(1), document: document(1, '{"brought":1}') }]);
      await store.appData.put(document(2, '{"found":2}'), 2);
      await store.appData.put(document(3, '{"found":3}'), 2);
      await store.orders.insert([{ order: referring(2) }, { order: referring(3), document: document(3, '{}') }]);
      for (const n of range(5)) await store.appData.put(document(10 + n, '{}'), 2);
      const kept = await Promise.all([1, 2, 3, 13, 14].map((n) => store.appData.get(document(n, '').hash)));
      assert.deepEqual(kept, ['{"brought":1}', '{"found":2}', '{"found":3}', '{}', '{}']);
      assert.equal(await store.appData.get(document(12, '').hash), undefined);
    },
  },
  {
    name: 'stores no document of a rejected order',
    async run({ store }) {
      await store.appData.put(document(1, '{"waits":1}'), 1);
      const rejected = { order: order(1, { appData: document(1, '').hash }), document: document(1, '{}'), quota: 0 };
      assert.equal((await store.orders.insert([rejected]))[0]?.status, 'quotaExceeded');
      await store.appData.put(document(2, '{}'), 1);
      assert.equal(await store.appData.get(document(1, '').hash), undefined);
    },
  },
  {
    name: 'keeps any number of documents without a limit',
    async run({ store }) {
      for (const n of range(20)) await store.appData.put(document(n, '{}'));
      for (const n of range(20)) assert.equal(await store.appData.get(document(n, '').hash), '{}');
    },
  },
  {
    name: 'returns an order with a document that is stored after it',
    async run({ store }) {
      await place(store, order(1, { appData: document(7, '').hash }));
      assert.equal((await store.orders.get([order(1).uid]))[0]?.fullAppData, null);
      await store.appData.put(document(7, '{"late":true}'));
      assert.equal((await store.orders.get([order(1).uid]))[0]?.fullAppData, '{"late":true}');
      assert.equal((await store.orders.get([order(1).uid]))[0]?.version, 1);
    },
  },
];
