import type { Hex, QuoteRequest } from 'intentbook';
import { fixedPrices } from 'intentbook/estimators';
import { sqliteStore } from 'intentbook/sqlite';
import { describe, expect, test } from 'vitest';
import { temporaryFile } from '../../integration/stores/temporary.ts';
import { account, COW, signCancellation, signOrder, WETH } from '../../support/orders.ts';
import { ETHER, quoted, quotesFixture, SELL, source } from './quotes-fixture.ts';

const X = 1000n * ETHER;
const TRADER = account(77);
const PLAN = { interactions: [{ target: WETH.toLowerCase(), value: '0', callData: '0x' }] };

async function fixture() {
  const planned = source('planned', ({ amount, kind }) => ({
    amount: kind === 'sell' ? (amount * 3n) / 10_000n : (amount * 10_000n) / 3n,
    gas: 150_000,
    solver: '0x00000000000000000000000000000000000050fe',
    metadata: PLAN,
  }));
  const all = await quotesFixture({ estimators: [planned], orderTimeout: 0 });
  const { book, clock } = all;
  return {
    ...all,
    /** Submits an order with a quote of a thousand COW, and reads it. */
    async place(choice: object = {}, quoteId?: number | null) {
      const order = await signOrder(TRADER, {
        sellToken: COW,
        buyToken: WETH,
        sellAmount: String(X),
        buyAmount: '1',
        validTo: Math.floor(clock.now() / 1000) + 600,
        ...choice,
      });
      const result = await book.orders.submit(quoteId === undefined ? order : { ...order, quoteId });
      if (result.status !== 'accepted') throw result.error;
      return result.uid;
    },
    async quoteOf(uid: string) {
      return (await book.orders.get(uid))?.quote;
    },
  };
}

const STORED = {
  gasAmount: '150000',
  gasPrice: '10000000000',
  sellTokenPrice: '0.0003',
  sellAmount: String(X),
  buyAmount: String((X * 3n) / 10_000n),
  feeAmount: String(5n * ETHER),
  solver: '0x00000000000000000000000000000000000050fe',
  verified: false,
};

describe('quote of an order', () => {
  test('of a sale before fee is linked by id, with full amount and fee without extra gas', async () => {
    const { book, place, quoteOf } = await fixture();
    const { id } = await quoted(book, { ...SELL, signingScheme: 'eip1271' });
    expect(await quoteOf(await place({}, id))).toEqual(STORED);
  });

  test('of a purchase is linked by buy amount with any sell amount', async () => {
    const { book, place, quoteOf } = await fixture();
    const request: QuoteRequest = { ...SELL, kind: 'buy', buyAmountAfterFee: '300' };
    const { id } = await quoted(book, request);
    const uid = await place({ kind: 'buy', buyAmount: '300', sellAmount: '1234567' }, id);
    expect(await quoteOf(uid)).toMatchObject({ buyAmount: '300', sellAmount: '1000000' });
  });

  test('is linked independently of app data, receiver, owner and scheme', async () => {
    const { book, place, quoteOf } = await fixture();
    const { id } = await quoted(book, { ...SELL, appData: '{"a":1}', receiver: WETH });
    expect(await quoteOf(await place({ appData: '{"b":2}' }, id))).toEqual(STORED);
  });

  test.each([
    ['an unknown id', 4242],
    ['a negative id', -1],
    ['null', null],
    ['no id', undefined],
  ])('with %s is the best matching quote', async (_, id) => {
    const { book, place, quoteOf } = await fixture();
    await quoted(book, SELL);
    expect(await quoteOf(await place({}, id))).toEqual(STORED);
  });

  test('with an id that no quote has is not linked, and the order is accepted', async () => {
    const { place, quoteOf } = await fixture();
    for (const [i, id] of [-1, 2 ** 53, 1e300].entries()) {
      expect(await quoteOf(await place({ buyAmount: String(i + 1) }, id))).toBeUndefined();
    }
  });

  test('with the id of another trade is not linked, and the order is accepted', async () => {
    const { book, place, quoteOf } = await fixture();
    const { id } = await quoted(book, { ...SELL, sellAmountBeforeFee: String(X + 1n) });
    expect(await quoteOf(await place({}, id))).toBeUndefined();
  });

  test('is linked in its last millisecond and not in the next', async () => {
    const { book, clock, place, quoteOf } = await fixture();
    const { id } = await quoted(book, SELL);
    clock.set(clock.now() + 60_000);
    expect(await quoteOf(await place({}, id))).toEqual(STORED);
    clock.set(clock.now() + 1);
    expect(await quoteOf(await place({ buyAmount: '2' }, id))).toBeUndefined();
  });

  test('for an order on chain is linked by its id only', async () => {
    const { book, place, quoteOf } = await fixture();
    const { id } = await quoted(book, { ...SELL, signingScheme: 'presign', onchainOrder: true });
    expect(await quoteOf(await place())).toBeUndefined();
    expect(await quoteOf(await place({ buyAmount: '2' }, id))).toEqual(STORED);
  });

  test('in fast quality is not stored or linked', async () => {
    const { book, place, quoteOf } = await fixture();
    await quoted(book, { ...SELL, priceQuality: 'fast' });
    expect(await quoteOf(await place())).toBeUndefined();
  });

  test('can be linked to several orders', async () => {
    const { book, place, quoteOf } = await fixture();
    const { id } = await quoted(book, SELL);
    for (const buyAmount of ['1', '2', '3']) expect(await quoteOf(await place({ buyAmount }, id))).toEqual(STORED);
  });

  test('is the verified one among several, then the best', async () => {
    let [amount, verified] = [300n, false];
    const { book, clock } = await quotesFixture({
      estimators: [source('one', () => ({ amount: amount * 10n ** 15n, gas: 1, verified }))],
    });
    const place = async (buyAmount: string) => {
      const choice = { sellToken: COW, buyToken: WETH, sellAmount: String(X), buyAmount };
      const order = await signOrder(TRADER, { ...choice, validTo: Math.floor(clock.now() / 1000) + 600 });
      const result = await book.orders.submit(order);
      if (result.status !== 'accepted') throw result.error;
      return (await book.orders.get(result.uid))?.quote?.buyAmount;
    };
    for (const next of [300n, 302n, 301n]) {
      amount = next;
      await quoted(book, SELL);
      clock.advance(500); // the next request is separate
    }
    expect(await place('1')).toBe(String(302n * 10n ** 15n));
    [amount, verified] = [299n, true];
    await quoted(book, SELL);
    expect(await place('2')).toBe(String(299n * 10n ** 15n));
  });
});

describe('displayed quote of an order', () => {
  test('hides the plan while the order can be filled, and shows it afterwards', async () => {
    const { book, clock, place, quoteOf } = await fixture();
    const { id } = await quoted(book, SELL);
    const [cancelled, expired] = [await place({}, id), await place({ buyAmount: '2' }, id)];
    expect(await quoteOf(cancelled)).not.toHaveProperty('metadata');
    await book.orders.cancel({
      orderUids: [cancelled],
      ...(await signCancellation(TRADER, { orderUids: [cancelled] })),
    });
    expect(await quoteOf(cancelled)).toEqual({ ...STORED, metadata: PLAN });
    expect(await quoteOf(expired)).not.toHaveProperty('metadata');
    const etag = (await book.orders.rendered.get(expired))?.etag;
    clock.set(clock.now() + 601_000);
    expect(await quoteOf(expired)).toEqual({ ...STORED, metadata: PLAN });
    expect((await book.orders.rendered.get(expired))?.etag).not.toBe(etag);
  });

  test('is shown in batches and single reads but not in listings', async () => {
    const { book, place } = await fixture();
    const { id } = await quoted(book, SELL);
    const uid = await place({}, id);
    expect((await book.orders.getMany([uid]))[0]?.order?.quote).toEqual(STORED);
    expect((await book.orders.list()).orders[0]).not.toHaveProperty('quote');
  });

  test('survives the sweep of expired quotes', async () => {
    const { book, clock, store, place, quoteOf } = await fixture();
    const { id } = await quoted(book, SELL);
    const uid = await place({}, id);
    const terms = {
      sellToken: COW.toLowerCase(),
      buyToken: WETH.toLowerCase(),
      kind: 'sell',
      amount: String(X),
    } as never;
    const isStored = async () =>
      (await store.quotes.match({ ...(terms as object), quoteKind: 'standard', now: 0 } as never)) !== undefined;
    clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await isStored()).toBe(true);
    clock.advance(30_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await isStored()).toBe(false);
    expect(await quoteOf(uid)).toEqual(STORED);
    await book.close();
    expect(clock.pending).toBe(0);
  });

  test('is not lost if a clock ahead is corrected', async () => {
    const { book, clock, place, quoteOf } = await fixture();
    const { id } = await quoted(book, SELL);
    const advance = async (ms: number) => {
      clock.advance(ms);
      for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    };
    clock.jump(86_400_000);
    await advance(30_000);
    clock.jump(-86_400_000);
    await advance(1_000);
    expect(await quoteOf(await place({}, id))).toEqual(STORED);
    await book.close();
  });

  test('sweep yields to other tasks between two steps with a fast store', async () => {
    const { book, clock, store } = await fixture();
    let steps = 0;
    Object.assign(store.quotes, { prune: async () => (++steps < 5 ? 1_000 : 0) });
    clock.advance(30_000);
    for (let i = 0; i < 100; i++) await Promise.resolve();
    expect(steps).toBe(1);
    while (steps < 5) await new Promise((resolve) => setImmediate(resolve));
    await book.close();
  });

  /** Nested objects with the given depth. */
  const nested = (depth: number) => {
    let object = {};
    for (let i = 1; i < depth; i++) object = { in: object };
    return object;
  };
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;

  test.each<readonly [string, unknown, string]>([
    ['with a cycle', cyclic, '{}'],
    ['larger than 64 KiB', { text: 'x'.repeat(70_000) }, '{}'],
    ['that is a string', 'plan', '{}'],
    ['that is an array', [1], '{}'],
    ['with a bigint', { n: 1n }, '{}'],
    ['that serialises to nothing', null, '{}'],
    // SQLite reads JSON of depth 1000 at most, and its tables accept nothing else.
    ['nested 65 deep', nested(65), '{}'],
    ['nested 3000 deep', nested(3000), '{}'],
    ['nested too deep to be serialised', nested(100_000), '{}'],
    ['nested 64 deep', nested(64), JSON.stringify(nested(64))],
    // PostgreSQL text supports neither.
    ['with a NUL character', { text: 'a\u0000' }, '{}'],
    ['with a lone surrogate', { text: '\ud83d' }, '{}'],
    ['with a lone surrogate in a key', { '\\\ude00': 1 }, '{}'],
    ['with escape sequences of both', { text: '\\u0000 \\ud83d 😀' }, '{"text":"\\\\u0000 \\\\ud83d 😀"}'],
  ])('stores a plan %s if possible and keeps its price in any case', async (_, metadata, stored) => {
    const odd = source('odd', () => ({ amount: 10n ** 17n, gas: 1, metadata: metadata as never }));
    using file = temporaryFile();
    const { book, store } = await quotesFixture(
      { estimators: [odd, fixedPrices({})] },
      sqliteStore({ path: file.path }),
    );
    await quoted(book, SELL);
    const terms = { sellToken: COW.toLowerCase() as Hex, buyToken: WETH.toLowerCase() as Hex, kind: 'sell' } as const;
    const match = await store.quotes.match({ ...terms, amount: String(X), quoteKind: 'standard', now: 0 });
    expect(match?.metadata).toBe(stored);
    await book.close();
  });
});
