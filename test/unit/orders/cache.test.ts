import fc from 'fast-check';
import type { Hex, NewOrder, Store, TradeFact } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { createOrderCache } from '../../../src/orders/cache.ts';
import type { ReadContext } from '../../../src/orders/read.ts';
import { readElements, readOrder, readOrders } from '../../../src/orders/read.ts';
import { nextTurn } from '../../../src/turn.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { document, NOW, order, PLACED_AT, range, USDC, WETH, word } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';

const METADATA = '{"plan":[]}';

/** An order whose body begins as those of the engine do; every third has a quote, every other a document of its own. */
function nth(n: number): NewOrder {
  const plain = order(n, { validTo: NOW + 5 + n, appData: word(n % 4) });
  const body = { uid: plain.uid, sellToken: WETH, sellAmount: '100', buyAmount: '50', kind: 'sell' };
  const quote = { body: '{"solver":"s"}', metadata: METADATA };
  return { ...plain, body: JSON.stringify(body), ...(n % 3 === 0 ? { quote } : {}) };
}

const uidOf = (n: number) => nth(n).uid;
const UIDS = range(8).map(uidOf);

function trade(n: number, number: number): TradeFact {
  const { uid, owner } = nth(n);
  return {
    ...{ type: 'trade', blockNumber: number, blockHash: word(number), logIndex: 0, transactionHash: word(number) },
    ...{ timestamp: NOW, uid, owner, sellToken: WETH, buyToken: USDC, sellAmount: '60', buyAmount: '30' },
    ...{ feeAmount: '0', executedFee: '1', prices: null, protocolFees: [] },
  };
}

async function world(bytes: number) {
  const clock = manualClock(PLACED_AT);
  const store = memoryStore();
  await store.open({ domain: DOMAIN, clock });
  const asked: (readonly Hex[])[] = [];
  const watched: Store = {
    ...store,
    orders: {
      ...store.orders,
      get(uids) {
        asked.push(uids);
        return store.orders.get(uids);
      },
    },
  };
  const onFault = (fault: unknown) => expect.fail(String(fault));
  const cache = createOrderCache(store.events, bytes);
  return {
    clock,
    store,
    asked,
    cache,
    plain: { store, clock, onFault },
    cached: { store: watched, clock, onFault, cache },
  };
}

type World = Awaited<ReturnType<typeof world>>;
type Step = (world: World, block: { number: number }) => Promise<unknown>;

const n = fc.nat(7);
const step: fc.Arbitrary<Step> = fc.oneof(
  n.map(
    (i): Step =>
      ({ store }) =>
        store.orders.insert([{ order: nth(i) }]),
  ),
  fc.tuple(n, n).map(
    ([i, j]): Step =>
      ({ store }) =>
        store.orders.insert([{ order: nth(i), replaces: uidOf(j) }]),
  ),
  n.map(
    (i): Step =>
      ({ store, clock }) =>
        store.orders.cancel({ uids: [uidOf(i)], now: Math.floor(clock.now() / 1000), cancelledAt: clock.now() }),
  ),
  n.map(
    (i): Step =>
      ({ store }) =>
        store.appData.put(document(i % 4, `"${i % 4}"`)),
  ),
  n.map(
    (i): Step =>
      async ({ store, clock }, block) => {
        block.number++;
        const through = { number: block.number, hash: word(block.number) };
        await store.chain.apply({
          facts: [trade(i, block.number)],
          blocks: [through],
          through,
          forgetBelow: 0,
          at: clock.now(),
        });
      },
  ),
  fc.nat(3).map(
    (back): Step =>
      async ({ store, clock }, block) => {
        await store.chain.rollback({ to: Math.max(0, block.number - back), at: clock.now() });
        block.number += 1000; // no block number comes twice
      },
  ),
  fc.nat(3000).map(
    (ms): Step =>
      async ({ clock }) =>
        clock.advance(ms),
  ),
  n.map(
    (i): Step =>
      ({ cached }) =>
        readOrder(uidOf(i), cached),
  ),
  fc.array(n).map(
    (list): Step =>
      ({ cached }) =>
        readOrders(list.map(uidOf), cached),
  ),
);

const byUid = <T extends { order?: { uid: string } | undefined }>(results: readonly T[]) =>
  [...results].sort((a, b) => ((a.order?.uid ?? '') < (b.order?.uid ?? '') ? -1 : 1));

/** The same as by_uids answers it. */
async function elements(context: ReadContext): Promise<{ order: { uid: string } }[]> {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await readElements(UIDS, context)));
}

test('what is read through the cache is what the store has, whatever has happened to it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 60 }),
      fc.constantFrom(0, 3000, 1e6),
      async (steps, bytes) => {
        const here = await world(bytes);
        const block = { number: 0 };
        for (const run of steps) {
          await run(here, block);
          const stored = byUid(await readOrders(UIDS, here.plain));
          expect(byUid(await readOrders(UIDS, here.cached))).toEqual(stored);
          const parsed = stored.map(({ order }) => ({ order: JSON.parse(order?.json ?? '') }));
          expect(byUid(await elements(here.cached))).toEqual(parsed);
          expect(byUid(await elements(here.plain))).toEqual(parsed);
        }
      },
    ),
    { numRuns: 150 },
  );
});

test('readers and writers that run at once leave nothing behind that is out of date', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 12 }), { minLength: 3, maxLength: 6 }),
      fc.infiniteStream(fc.nat(3)),
      async (lines, pauses) => {
        const here = await world(1e6);
        const slow = async () => {
          for (let i = pauses.next().value ?? 0; i > 0; i--) await nextTurn();
        };
        const { store } = here;
        // Rows and log entries arrive later than they were read.
        const late: Store = {
          ...store,
          orders: {
            ...store.orders,
            get: async (uids) => {
              const rows = await store.orders.get(uids);
              await slow();
              return rows;
            },
          },
        };
        const cached = { ...here.cached, store: late };
        const block = { number: 0 };
        await Promise.all(
          lines.map(async (steps) => {
            for (const run of steps) {
              await run({ ...here, cached }, block);
              await slow();
            }
          }),
        );
        expect(byUid(await readOrders(UIDS, here.cached))).toEqual(byUid(await readOrders(UIDS, here.plain)));
      },
    ),
    { numRuns: 60 },
  );
});

test('an order that has not changed is read once, and its status still follows the time', async () => {
  const { store, cached, asked, clock } = await world(1e6);
  await store.orders.insert([{ order: nth(0), document: document(0, '{}') }]);
  const first = await readOrder(uidOf(0), cached);
  await store.orders.insert([{ order: nth(1) }]); // somebody else's
  clock.advance(6000);
  const second = await readOrder(uidOf(0), cached);
  expect(asked).toHaveLength(1);
  expect([first, second].map((read) => JSON.parse(read?.json ?? '').status)).toEqual(['open', 'expired']);
  expect([first, second].map((read) => JSON.parse(read?.json ?? '').quote.metadata)).toEqual([undefined, { plan: [] }]);
  expect(first?.etag).not.toBe(second?.etag);
});

test('what is used last is kept, within the bytes that are allowed', async () => {
  const { store, cached, asked } = await world(3 * 1500);
  for (const i of range(8)) await store.orders.insert([{ order: nth(i), document: document(i % 4, '{}') }]);
  for (const i of range(8)) await readOrder(uidOf(i), cached);
  asked.length = 0;
  await readOrder(uidOf(7), cached);
  expect(asked).toEqual([]);
  await readOrder(uidOf(0), cached);
  expect(asked).toEqual([[uidOf(0)]]);
});

test('an order larger than the cache is not kept, and pushes out nothing for long', async () => {
  const { store, cached, cache } = await world(2000);
  await store.orders.insert([{ order: nth(1), document: document(1, JSON.stringify('x'.repeat(5000))) }]);
  await readOrder(uidOf(1), cached);
  expect(cache.get(uidOf(1))).toBeUndefined();
});

test('far behind the log, it starts over', async () => {
  const { store, cached, asked } = await world(1e6);
  await store.orders.insert([{ order: nth(0), document: document(0, '{}') }]);
  await readOrder(uidOf(0), cached);
  for (let i = 0; i < 600; i++) await store.orders.insert([{ order: order(1000 + i) }]);
  await store.orders.cancel({ uids: [uidOf(0)], now: NOW, cancelledAt: PLACED_AT });
  expect(JSON.parse((await readOrder(uidOf(0), cached))?.json ?? '').status).toBe('cancelled');
  expect(asked).toHaveLength(2);
});

test('what was read before everything was forgotten is not kept, though the log has not moved since', async () => {
  const { store, cache, plain } = await world(1_000_000);
  await store.appData.put(document(1, '"1"'));
  await store.orders.insert([{ order: nth(1) }]);
  const read = () => readOrder(uidOf(1), { ...plain, cache });
  await read();
  expect(cache.get(uidOf(1))).toBeDefined();

  cache.clear();
  const forgetful: Store['orders']['get'] = async (uids) => {
    const rows = await store.orders.get(uids);
    cache.clear(); // as after pruning
    await cache.follow(); // somebody else
    return rows;
  };
  const pruned = { ...store, orders: { ...store.orders, get: forgetful } };
  await readOrder(uidOf(1), { ...plain, store: pruned, cache });
  expect(cache.get(uidOf(1))).toBeUndefined();
});
