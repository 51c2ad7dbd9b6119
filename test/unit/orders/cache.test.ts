import fc from 'fast-check';
import type { EventStore, Hex, NewOrder, Store, TradeChainEvent } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { createOrderCache, type ReadContext, readManyBytes, readOrder, readOrders } from '../../../src/orders/read.ts';
import { yieldToEventLoop } from '../../../src/ports/clock.ts';
import type { PreparedOrder } from '../../../src/records/order-json.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { document, NOW, order, PLACED_AT, range, USDC, WETH, word } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import { completeOrder } from '../../support/complete-orders.ts';

const METADATA = '{"plan":[]}';

/** Returns an order with the body format of the engine; every third has a quote, every other a document of its own. */
function nth(n: number): NewOrder {
  const plain = completeOrder(n, { validTo: NOW + 5 + n, appData: word(n % 4) });
  const quote = { body: '{"solver":"s"}', metadata: METADATA };
  return { ...plain, ...(n % 3 === 0 ? { quote } : {}) };
}

const uidOf = (n: number) => nth(n).uid;
const UIDS = range(8).map(uidOf);

function trade(n: number, number: number): TradeChainEvent {
  const { uid, owner } = nth(n);
  return {
    type: 'trade',
    blockNumber: number,
    blockHash: word(number),
    logIndex: 0,
    transactionHash: word(number),
    timestamp: NOW,
    uid,
    owner,
    sellToken: WETH,
    buyToken: USDC,
    sellAmount: '60',
    buyAmount: '30',
    feeAmount: '0',
    executedFee: '1',
    prices: null,
    protocolFees: [],
  };
}

async function fixture(bytes: number) {
  const clock = manualClock(PLACED_AT);
  const store = memoryStore();
  await store.open({ domain: DOMAIN, clock });
  const recordedCalls: (readonly Hex[])[] = [];
  const watched: Store = {
    ...store,
    orders: {
      ...store.orders,
      get(uids) {
        recordedCalls.push(uids);
        return store.orders.get(uids);
      },
    },
  };
  const onFailure = (failure: unknown) => expect.fail(String(failure));
  const cache = createOrderCache(store.events, bytes);
  return {
    clock,
    store,
    recordedCalls,
    cache,
    plain: { store, clock, onFailure },
    cached: { store: watched, clock, onFailure, cache },
  };
}

type Fixture = Awaited<ReturnType<typeof fixture>>;
type Step = (fixture: Fixture, block: { number: number }) => Promise<unknown>;

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
        // Not the zero hash, whose document is built in.
        store.appData.put(document(1 + (i % 3), `"${1 + (i % 3)}"`)),
  ),
  n.map(
    (i): Step =>
      async ({ store, clock }, block) => {
        block.number++;
        const through = { number: block.number, hash: word(block.number) };
        await store.chain.apply({
          events: [trade(i, block.number)],
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
        block.number += 1000; // no block number repeats
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

/** Returns the order as by_uids renders it. */
async function elements(context: ReadContext): Promise<{ order: { uid: string } }[]> {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await readManyBytes(UIDS, context)));
}

test('order cache returns the state of the store after random operations', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 60 }),
      fc.constantFrom(0, 3000, 1e6),
      async (steps, bytes) => {
        const here = await fixture(bytes);
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

test('order cache keeps nothing stale after concurrent reads and writes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 12 }), { minLength: 3, maxLength: 6 }),
      fc.infiniteStream(fc.nat(3)),
      async (lines, pauses) => {
        const here = await fixture(1e6);
        const slow = async () => {
          for (let i = pauses.next().value ?? 0; i > 0; i--) await yieldToEventLoop();
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

test('order cache reads an unchanged order once, and its status still follows the time', async () => {
  const { store, cached, recordedCalls, clock } = await fixture(1e6);
  await store.orders.insert([{ order: nth(0), document: document(0, '{}') }]);
  const first = await readOrder(uidOf(0), cached);
  await store.orders.insert([{ order: nth(1) }]); // of another writer
  clock.advance(6000);
  const second = await readOrder(uidOf(0), cached);
  expect(recordedCalls).toHaveLength(1);
  expect([first, second].map((read) => JSON.parse(read?.json ?? '').status)).toEqual(['open', 'expired']);
  expect([first, second].map((read) => JSON.parse(read?.json ?? '').quote.metadata)).toEqual([undefined, { plan: [] }]);
  expect(first?.etag).not.toBe(second?.etag);
});

test('order cache keeps the most recently used orders within its byte limit', async () => {
  const { store, cached, recordedCalls } = await fixture(3 * 1500);
  for (const i of range(8)) await store.orders.insert([{ order: nth(i), document: document(i % 4, '{}') }]);
  for (const i of range(8)) await readOrder(uidOf(i), cached);
  recordedCalls.length = 0;
  await readOrder(uidOf(7), cached);
  expect(recordedCalls).toEqual([]);
  await readOrder(uidOf(0), cached);
  expect(recordedCalls).toEqual([[uidOf(0)]]);
});

test('order cache does not keep an order larger than itself and evicts little for it', async () => {
  const { store, cached, cache } = await fixture(2000);
  await store.orders.insert([{ order: nth(1), document: document(1, JSON.stringify('x'.repeat(5000))) }]);
  await readOrder(uidOf(1), cached);
  expect(cache.get(uidOf(1))).toBeUndefined();
});

test('order cache is cleared when it is far behind the log', async () => {
  const { store, cached, recordedCalls } = await fixture(1e6);
  await store.orders.insert([{ order: nth(0), document: document(0, '{}') }]);
  await readOrder(uidOf(0), cached);
  for (let i = 0; i < 600; i++) await store.orders.insert([{ order: order(1000 + i) }]);
  await store.orders.cancel({ uids: [uidOf(0)], now: NOW, cancelledAt: PLACED_AT });
  expect(JSON.parse((await readOrder(uidOf(0), cached))?.json ?? '').status).toBe('cancelled');
  expect(recordedCalls).toHaveLength(2);
});

test('order cache does not keep a read that began before it was cleared', async () => {
  const { store, cache, plain } = await fixture(1_000_000);
  await store.appData.put(document(1, '"1"'));
  await store.orders.insert([{ order: nth(1) }]);
  const read = () => readOrder(uidOf(1), { ...plain, cache });
  await read();
  expect(cache.get(uidOf(1))).toBeDefined();

  cache.clear();
  const forgetful: Store['orders']['get'] = async (uids) => {
    const rows = await store.orders.get(uids);
    cache.clear(); // as after pruning
    await cache.refresh(); // another writer
    return rows;
  };
  const pruned = { ...store, orders: { ...store.orders, get: forgetful } };
  await readOrder(uidOf(1), { ...plain, store: pruned, cache });
  expect(cache.get(uidOf(1))).toBeUndefined();
});

test('order cache returns and keeps nothing during a pause, and drops its entries if something has changed', async () => {
  const { store, cache, plain } = await fixture(1_000_000);
  await store.appData.put(document(1, '"1"'));
  await store.orders.insert([{ order: nth(1) }]);
  const context = { ...plain, cache };
  await readOrder(uidOf(1), context);

  const resume = cache.pause();
  expect(cache.get(uidOf(1))).toBeUndefined();
  resume(false);
  expect(cache.get(uidOf(1))).toBeDefined();

  const [end, endOther] = [cache.pause(), cache.pause()];
  end(true);
  await readOrder(uidOf(1), context);
  endOther(false);
  expect(cache.get(uidOf(1))).toBeUndefined();
  await readOrder(uidOf(1), context);
  expect(cache.get(uidOf(1))).toBeDefined();
});

test('order cache does not keep a read that began during a pause', async () => {
  const { store, cache, plain } = await fixture(1_000_000);
  await store.appData.put(document(1, '"1"'));
  await store.orders.insert([{ order: nth(1) }]);
  const resume = cache.pause();
  const slow: Store['orders']['get'] = async (uids) => {
    const rows = await store.orders.get(uids);
    resume(true);
    return rows;
  };
  await readOrder(uidOf(1), { ...plain, cache, store: { ...store, orders: { ...store.orders, get: slow } } });
  expect(cache.get(uidOf(1))).toBeUndefined();
});

test('order cache drops orders that it forgets, and does not keep a read that began before', async () => {
  const { store, cache, plain } = await fixture(1_000_000);
  for (const i of [1, 2]) await store.orders.insert([{ order: nth(i), document: document(i, '{}') }]);
  const context = { ...plain, cache };
  for (const i of [1, 2]) await readOrder(uidOf(i), context);
  cache.forget([uidOf(1)]);
  expect([cache.get(uidOf(1)), cache.get(uidOf(2))?.uid]).toEqual([undefined, uidOf(2)]);

  const slow: Store['orders']['get'] = async (uids) => {
    const rows = await store.orders.get(uids);
    cache.forget(uids);
    return rows;
  };
  await readOrder(uidOf(1), { ...context, store: { ...store, orders: { ...store.orders, get: slow } } });
  expect(cache.get(uidOf(1))).toBeUndefined();
});

describe('order cache eviction', () => {
  /** An entry of 1000 bytes by the cache's count, without a quote: 400 of overhead, 114 for the UID, and its text. */
  const sized = (n: number, quote: PreparedOrder['quote'] = null): PreparedOrder => ({
    uid: uidOf(n),
    state: 'open',
    validTo: NOW,
    version: 1,
    creationDate: 0,
    lacksDocument: false,
    element: undefined,
    rendered: undefined,
    request: 0,
    used: false,
    quote,
    head: 'h'.repeat(100),
    middle: 'm'.repeat(50),
    tail: 't'.repeat(62),
  });

  async function cacheOf(bytes: number) {
    const cache = createOrderCache({ after: async () => [], last: async () => 7 }, bytes);
    const moment = await cache.refresh();
    return {
      ...cache,
      put: (...orders: readonly PreparedOrder[]) => {
        for (const order of orders) cache.put(order, moment);
      },
      /** Returns the cached orders without using them: a lookup of an uncached order does not count as use. */
      has: (...ns: readonly number[]) => ns.filter((i) => cache.get(uidOf(i)) !== undefined),
    };
  }

  test('uses the limit to the byte', async () => {
    const enough = await cacheOf(3000);
    enough.put(sized(0), sized(1), sized(2));
    expect(enough.has(0, 1, 2)).toEqual([0, 1, 2]);
    const short = await cacheOf(2999);
    short.put(sized(0), sized(1), sized(2));
    expect(short.has(0, 1, 2)).toEqual([1, 2]);
  });

  test('counts quotes as two strings of two bytes per character and as encoded bytes', async () => {
    const quote = { body: 'b'.repeat(30), metadata: 'm'.repeat(20) };
    const enough = await cacheOf(1250);
    enough.put(sized(0, quote));
    expect(enough.has(0)).toEqual([0]);
    const short = await cacheOf(1249);
    short.put(sized(0, quote));
    expect(short.has(0)).toEqual([]);
  });

  test('removes the oldest first, but keeps entries read since once', async () => {
    const cache = await cacheOf(3000);
    cache.put(sized(0), sized(1), sized(2));
    cache.get(uidOf(0));
    cache.put(sized(3)); // 0 is kept and moves to the end, 1 is removed
    cache.put(sized(4)); // 2 is removed
    cache.put(sized(5)); // 3 is removed, because 0 is behind it
    expect(cache.has(0, 1, 2, 3, 4, 5)).toEqual([0, 4, 5]);
  });

  test('removes an entry that was kept once and not read again', async () => {
    const cache = await cacheOf(2000);
    cache.put(sized(0), sized(1));
    cache.get(uidOf(0));
    cache.put(sized(2)); // 0 is kept, 1 is removed
    cache.put(sized(3)); // 2 is removed after 0 or before it; 0 has no second chance left
    cache.put(sized(4));
    expect(cache.has(0, 1, 2)).toEqual([]);
    expect(cache.has(3, 4)).toEqual([3, 4]);
  });

  test('counts a repeated entry once', async () => {
    const cache = await cacheOf(2000);
    cache.put(sized(0), sized(1), sized(1), sized(1));
    expect(cache.has(0, 1)).toEqual([0, 1]);
  });

  test('holds the later of two orders whose hashes begin alike, and counts one', async () => {
    const cache = await cacheOf(2000);
    const uid: Hex = `${uidOf(1).slice(0, 10) as Hex}${'ab'.repeat(52)}`; // the rest is of another order
    cache.put(sized(0), sized(1), { ...sized(1), uid });
    expect(cache.has(0, 1)).toEqual([0]);
    expect(cache.get(uid)?.uid).toBe(uid);
    cache.put(sized(1));
    expect(cache.has(0, 1)).toEqual([0, 1]);
    expect(cache.get(uid)).toBeUndefined();
  });
});

describe('order cache synchronisation', () => {
  const row: PreparedOrder = {
    uid: uidOf(1),
    state: 'open',
    validTo: NOW,
    version: 1,
    creationDate: 0,
    lacksDocument: false,
    element: undefined,
    rendered: undefined,
    request: 0,
    used: false,
    head: '',
    middle: '',
    tail: '',
    quote: null,
  };
  type Change = { readonly id: number; readonly uid: Hex };

  /** A log whose reads complete when the test allows it. */
  function log(last: number) {
    const changes: Change[] = [];
    const recordedCalls: number[] = [];
    let gate = Promise.resolve();
    const events = {
      after: async (id: number, limit: number) => {
        recordedCalls.push(id);
        const found = changes.filter((each) => each.id > id).slice(0, limit);
        await gate;
        return found as never; // the members that the cache reads
      },
      last: async () => Math.max(last, ...changes.map(({ id }) => id)),
    };
    return {
      changes,
      recordedCalls,
      cache: createOrderCache(events, 1e6),
      hold() {
        let open = () => {};
        gate = new Promise((resolve) => {
          open = resolve;
        });
        return open;
      },
    };
  }

  test.each([0, 1, 7])('reads only new entries after a log of %i entries', async (last) => {
    const { cache, changes, recordedCalls } = log(last);
    await cache.refresh();
    expect(recordedCalls).toEqual([]);
    await cache.refresh();
    changes.push({ id: last + 1, uid: uidOf(2) }, { id: last + 4, uid: uidOf(3) });
    await cache.refresh();
    await cache.refresh();
    expect(recordedCalls).toEqual([last, last, last + 4]);
  });

  test.each([
    ['no method', undefined, false],
    ['false', () => false, false],
    ['a promise', async () => true, false],
    ['true', () => true, true],
  ])('is current without a read only if the store shows it: %s', async (_name, isNewest, isCurrent) => {
    const events = { after: async () => [], last: async () => 7, isNewest } as unknown as EventStore; // as JavaScript
    const cache = createOrderCache(events, 1e6);
    expect(cache.current()).toBeUndefined();
    const version = await cache.refresh();
    expect(cache.current()).toBe(isCurrent ? version : undefined);
    cache.clear();
    expect(cache.current()).toBeUndefined();
  });

  test('drops changed entries and keeps the others', async () => {
    const { cache, changes } = log(7);
    cache.put(row, await cache.refresh());
    changes.push({ id: 8, uid: uidOf(2) });
    await cache.refresh();
    expect(cache.get(row.uid)).toBe(row);
    changes.push({ id: 9, uid: row.uid });
    await cache.refresh();
    expect(cache.get(row.uid)).toBeUndefined();
  });

  test('ignores a late response of an earlier read', async () => {
    const { cache, changes, recordedCalls, hold } = log(7);
    await cache.refresh();
    changes.push({ id: 8, uid: uidOf(2) });
    const open = hold();
    const slow = cache.refresh();
    changes.push({ id: 9, uid: uidOf(3) });
    const quick = cache.refresh();
    open();
    await quick;
    await slow;
    await cache.refresh();
    expect(recordedCalls).toEqual([7, 7, 9]);
  });

  test('does not keep an order read before the log moved on', async () => {
    const { cache, changes } = log(7);
    const before = await cache.refresh();
    changes.push({ id: 8, uid: uidOf(2) });
    const after = await cache.refresh();
    cache.put(row, before);
    expect(cache.get(row.uid)).toBeUndefined();
    cache.put(row, after);
    expect(cache.get(row.uid)).toBe(row);
    cache.clear();
    expect(cache.get(row.uid)).toBeUndefined();
  });

  test('does not keep an order without its document', async () => {
    const { cache } = log(7);
    cache.put({ ...row, lacksDocument: true }, await cache.refresh());
    expect(cache.get(row.uid)).toBeUndefined();
  });
});
