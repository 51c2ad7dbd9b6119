import assert from 'node:assert/strict';
import type { NewQuote, OrderQuery, QuoteQuery, Store } from 'intentbook';
import type { Rule } from './harness.ts';
import { ALICE, DAI, NOW, order, PLACED_AT, place, range, USDC, WETH } from './orders.ts';

const LATER = PLACED_AT + 60_000;

/** Content of a quote, recognisable by its number. The spaces show that texts are stored unchanged. */
const content = (n: number) => ({ body: `{ "sellAmount": "${n}" }`, metadata: `{ "plan": ${n} }` });

/** Returns a quote for a sale of 1000 atoms. Its rank has three digits. */
export function quote(n: number, changes: Partial<NewQuote> = {}): NewQuote {
  return {
    sellToken: WETH,
    buyToken: USDC,
    kind: 'sell',
    amount: '1000',
    quoteKind: 'standard',
    expiresAt: LATER,
    rank: '500',
    quote: content(n),
    ...changes,
  };
}

function query(changes: Partial<QuoteQuery> = {}): QuoteQuery {
  return {
    sellToken: WETH,
    buyToken: USDC,
    kind: 'sell',
    amount: '1000',
    quoteKind: 'standard',
    now: PLACED_AT,
    ...changes,
  };
}

/** Another value for every member of the terms. */
const OTHER_TERMS: readonly Partial<QuoteQuery>[] = [
  { sellToken: DAI },
  { buyToken: DAI },
  { kind: 'buy' },
  { amount: '1001' },
  { amount: '01000' },
  { amount: '115792089237316195423570985008687907853269984665640564039457584007913129639935' },
];

const insertAll = async (store: Store, ...quotes: NewQuote[]) => {
  const ids: number[] = [];
  for (const each of quotes) ids.push(await store.quotes.insert(each));
  return ids;
};

export const QUOTES: readonly Rule[] = [
  {
    name: 'gives out positive integer ids, each once, across callers and after removals',
    async run({ store, writers }) {
      const ids = await insertAll(store, quote(1, { expiresAt: PLACED_AT }), quote(2, { expiresAt: PLACED_AT }));
      assert.equal(await store.quotes.prune(PLACED_AT + 1, 10), 2);
      const more = await Promise.all(range(30).map((n) => writers[n % writers.length]?.quotes.insert(quote(n))));
      const all = [...ids, ...more];
      assert.ok(all.every((id) => Number.isSafeInteger(id) && Number(id) > 0));
      assert.equal(new Set(all).size, 32);
    },
  },
  {
    name: 'returns a quote by its id with its texts unchanged',
    async run({ store }) {
      const [one, two] = await insertAll(store, quote(1), quote(2, { rank: '999' }));
      assert.deepEqual(await store.quotes.match(query({ id: one ?? 0 })), content(1));
      assert.deepEqual(await store.quotes.match(query({ id: two ?? 0 })), content(2));
    },
  },
  {
    name: 'returns a quote by its id for every kind',
    async run({ store }) {
      const [id] = await insertAll(store, quote(1, { quoteKind: 'onchainEip1271' }), quote(2));
      assert.deepEqual(await store.quotes.match(query({ id: id ?? 0 })), content(1));
    },
  },
  {
    name: 'does not return a quote of other terms, with or without its id',
    async run({ store }) {
      const [id] = await insertAll(store, quote(1));
      for (const terms of OTHER_TERMS) {
        assert.equal(await store.quotes.match(query({ id: id ?? 0, ...terms })), undefined, JSON.stringify(terms));
        assert.equal(await store.quotes.match(query(terms)), undefined, JSON.stringify(terms));
      }
    },
  },
  {
    name: 'falls back to the best matching quote for an unknown, mismatched or expired id',
    async run({ store }) {
      const [other, expired] = await insertAll(
        store,
        quote(1, { amount: '7', rank: '999' }),
        quote(2, { expiresAt: PLACED_AT - 1, rank: '999' }),
        quote(3),
      );
      for (const id of [other, expired, 999_999, 0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
        assert.deepEqual(await store.quotes.match(query({ id: id ?? 0 })), content(3), String(id));
      }
    },
  },
  {
    name: 'selects the greatest rank, and the newest among equal ranks',
    async run({ store }) {
      await insertAll(store, quote(1, { rank: '0a0' }), quote(2, { rank: '0f0' }), quote(3, { rank: '090' }));
      assert.deepEqual(await store.quotes.match(query()), content(2));
      await insertAll(store, quote(4, { rank: '0f0' }), quote(5, { rank: '0ef' }));
      assert.deepEqual(await store.quotes.match(query()), content(4));
    },
  },
  {
    name: 'compares ranks of any length byte by byte',
    async run({ store }) {
      const rank = (last: string) => `1${'f'.repeat(127)}${last}`;
      await insertAll(
        store,
        quote(1, { rank: rank('9') }),
        quote(2, { rank: rank('b') }),
        quote(3, { rank: rank('a') }),
      );
      assert.deepEqual(await store.quotes.match(query()), content(2));
    },
  },
  {
    name: 'returns only quotes of the same kind without an id',
    async run({ store }) {
      await insertAll(store, quote(1, { quoteKind: 'onchainPresign' }), quote(2, { quoteKind: 'onchainEip1271' }));
      assert.equal(await store.quotes.match(query()), undefined);
      assert.deepEqual(await store.quotes.match(query({ quoteKind: 'onchainPresign' })), content(1));
      assert.deepEqual(await store.quotes.match(query({ quoteKind: 'onchainEip1271' })), content(2));
    },
  },
  {
    name: 'returns a quote in its last millisecond and not in the next',
    async run({ store }) {
      const [id] = await insertAll(store, quote(1));
      for (const named of [{}, { id: id ?? 0 }]) {
        assert.deepEqual(await store.quotes.match(query({ ...named, now: LATER })), content(1));
        assert.equal(await store.quotes.match(query({ ...named, now: LATER + 1 })), undefined);
      }
    },
  },
  {
    name: 'removes expired quotes only, up to the limit',
    async run({ store }) {
      const [first, , , , , , alive] = await insertAll(
        store,
        ...range(6).map((n) => quote(n, { expiresAt: PLACED_AT - 1 })),
        quote(6, { expiresAt: PLACED_AT }),
      );
      assert.equal(await store.quotes.prune(PLACED_AT, 4), 4);
      assert.equal(await store.quotes.prune(PLACED_AT, 4), 2);
      assert.equal(await store.quotes.prune(PLACED_AT, 4), 0);
      assert.deepEqual(await store.quotes.match(query({ id: alive ?? 0 })), content(6));
      // The read time is within the validity, so that only removal hides the quote.
      assert.deepEqual(await store.quotes.match(query({ id: first ?? 0, now: 0 })), content(6));
    },
  },
  {
    name: 'keeps the quote of an order when the quote itself is removed',
    async run({ store }) {
      await insertAll(store, quote(1, { expiresAt: PLACED_AT }));
      const [linked, plain] = [order(1, { quote: content(1) }), order(2)];
      await place(store, linked, plain);
      await store.quotes.prune(PLACED_AT + 1, 10);
      const found = new Map((await store.orders.get([linked.uid, plain.uid])).map((each) => [each.uid, each.quote]));
      assert.deepEqual(found.get(linked.uid), content(1));
      assert.equal(found.get(plain.uid), null);
      await store.orders.cancel({ uids: [linked.uid], now: NOW, cancelledAt: PLACED_AT });
      assert.deepEqual((await store.orders.get([linked.uid]))[0]?.quote, content(1));
    },
  },
  {
    name: 'keeps the quote of an order when a duplicate is inserted',
    async run({ store }) {
      await place(store, order(1, { quote: content(1) }), order(2));
      await store.orders.insert([
        { order: order(1, { quote: content(7) }) },
        { order: order(2, { quote: content(7) }) },
      ]);
      assert.deepEqual((await store.orders.get([order(1).uid]))[0]?.quote, content(1));
      assert.equal((await store.orders.get([order(2).uid]))[0]?.quote, null);
    },
  },
  {
    name: 'omits quotes of orders from listings, unless the query includes them',
    async run({ store }) {
      await place(store, order(1, { quote: content(1) }), order(2));
      const read = async (query: Omit<OrderQuery, 'limit'>) =>
        (await store.orders.list({ ...query, limit: 10 })).map((each) => each.quote);
      assert.deepEqual(await read({}), [null, null]);
      const status = { is: 'open', now: NOW } as const;
      for (const query of [{}, { status }, { owner: ALICE }, { status: { is: 'expired', now: 2 ** 32 } } as const]) {
        const expected = (await store.orders.list({ ...query, limit: 10 })).map(({ uid }) =>
          uid === order(1).uid ? content(1) : null,
        );
        assert.equal(expected.length, 2);
        assert.deepEqual(await read({ ...query, quotes: true }), expected);
      }
    },
  },
  {
    name: 'keeps quotes after the store is closed and reopened',
    skip: ({ durable }) => (durable ? undefined : 'traits.durable is false'),
    async run({ store, open }) {
      const [id] = await insertAll(store, quote(1));
      await store.close();
      const again = await open();
      assert.deepEqual(await again.quotes.match(query({ id: id ?? 0 })), content(1));
      assert.notEqual(await again.quotes.insert(quote(2)), id);
    },
  },
];
