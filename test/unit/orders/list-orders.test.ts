import { describe, expect, test } from 'vitest';
import type { RowMeter } from '../../../src/concurrency/abort.ts';
import { AbortedError } from '../../../src/concurrency/abort.ts';
import { endStep, listOrderBytes, listOrders, ORDERS_PER_STEP } from '../../../src/orders/list-orders.ts';
import { yieldToEventLoop } from '../../../src/ports/clock.ts';
import { ALICE, NOW, range, USDC, WETH } from '../../conformance/orders.ts';
import type { RecordingStoreOptions } from './recording-store.ts';
import { createGate, recordingStore, uidOf } from './recording-store.ts';

/** Orders of one step of a long page. */
const LONG_STEP = 64;
/** Index entries that one step of a search examines. */
const EXAMINED = 4000;
/** The same if each order is read. */
const OWNED = 512;

type Query = Parameters<typeof listOrders>[0];

function fixture(options: RecordingStoreOptions) {
  const recording = recordingStore(options);
  const failures: unknown[] = [];
  const meter: RowMeter = { rows: 0 };
  const time = { now: NOW };
  const context = {
    store: recording.store,
    clock: { now: () => time.now * 1000 + 999, after: () => () => {} },
    onFailure: (failure: unknown) => failures.push(failure),
  };
  return {
    ...recording,
    context,
    failures,
    meter,
    time,
    list: (query: Query, signal = {}) => listOrders(query, context, { signal, meter }),
    listBytes: (query: Query) => listOrderBytes(query, context, { meter }),
  };
}

const uidsOf = (page: { readonly orders: readonly { readonly uid: string }[] }) => page.orders.map(({ uid }) => uid);

/** Runs many ticks of the event loop, so that reads that are not blocked complete. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await yieldToEventLoop();
}

describe('step of a read', () => {
  test('adds its rows to the meter', async () => {
    const meter = { rows: 3 };
    await endStep({ meter }, 4);
    expect(meter.rows).toBe(7);
  });

  test('ends in a later tick than the previous one', async () => {
    await settle();
    const ended: string[] = [];
    const tick = yieldToEventLoop().then(() => ended.push('tick'));
    const steps = ['first', 'second'].map((name) => endStep({}, 0).then(() => ended.push(name)));
    await Promise.all([tick, ...steps]);
    expect(ended).toEqual(['first', 'tick', 'second']);
  });

  test('rejects if the result is no longer needed', async () => {
    await expect(endStep({ signal: { aborted: true } }, 0)).rejects.toThrow(AbortedError);
  });
});

describe('listing of an aborted request', () => {
  test.each<[string, Omit<Query, 'limit'>]>([
    ['an owner', { owner: ALICE }],
    ['the offset 0', { offset: 0 }],
    ['a cursor', { after: { creationDate: 4, uid: uidOf(0) } }],
  ])('is one read with %s and a limit of one step', async (_, query) => {
    const { list, lists } = fixture({ entries: 3 });
    const page = await list({ ...query, limit: ORDERS_PER_STEP }, { aborted: true });
    expect(uidsOf(page)).toEqual([0, 1, 2].map(uidOf));
    expect(lists).toHaveLength(1);
  });

  test.each<[string, Query]>([
    ['a longer limit', { limit: ORDERS_PER_STEP + 1 }],
    ['an offset', { limit: 1, offset: 1 }],
    ['a status', { limit: 1, status: 'open' }],
    ['a sell token', { limit: 1, sellToken: WETH }],
    ['a buy token', { limit: 1, buyToken: USDC }],
  ])('reads nothing with %s', async (_, query) => {
    const { list, lists } = fixture({ entries: 3 });
    await expect(list(query, { aborted: true })).rejects.toThrow(AbortedError);
    expect(lists).toEqual([]);
  });

  test('ends between two steps', async () => {
    const signal = { aborted: false };
    const { list, lists } = fixture({
      entries: 300,
      onRead: () => {
        signal.aborted = lists.length === 2;
      },
    });
    await expect(list({ limit: 300 }, signal)).rejects.toThrow(AbortedError);
    expect(lists).toHaveLength(2);
  });

  test('ends between two skipped ranges', async () => {
    const signal = { aborted: false };
    const { list, lists } = fixture({
      entries: 3000,
      onRead: () => {
        signal.aborted = true;
      },
    });
    await expect(list({ limit: 1, offset: 2500 }, signal)).rejects.toThrow(AbortedError);
    expect(lists).toHaveLength(1);
  });
});

describe('query of a listing', () => {
  test('has the filters, with the status at the current second, and no absent members', async () => {
    const { list, lists } = fixture({ entries: 0 });
    expect(await list({ limit: 5, offset: 0, owner: ALICE, status: 'open' })).toStrictEqual({ orders: [] });
    expect(lists).toStrictEqual([{ owner: ALICE, status: { is: 'open', now: NOW }, limit: 6 }]);
  });

  test('has the cursor and an offset of one step', async () => {
    const { list, lists, cursorOf, meter } = fixture({ entries: 300 });
    const after = cursorOf(9);
    const page = await list({ limit: 2, after, offset: ORDERS_PER_STEP });
    expect(uidsOf(page)).toEqual([138, 139].map(uidOf));
    expect(page.next).toEqual(cursorOf(139));
    expect(lists).toStrictEqual([{ after, offset: ORDERS_PER_STEP, limit: 3 }]);
    expect(meter.rows).toBe(3);
  });
});

describe('page of a listing', () => {
  test.each([
    [1, [2]],
    [127, [128]],
    [128, [64, 64, 1]],
    [129, [64, 64, 2]],
    [191, [64, 64, 64]],
    [192, [64, 64, 64, 1]],
  ])('of %i orders is read in steps of %j rows', async (limit, steps) => {
    const { list, lists, cursorOf, meter } = fixture({ entries: 300 });
    const page = await list({ limit });
    expect(uidsOf(page)).toEqual(range(limit).map(uidOf));
    expect(page.next).toEqual(cursorOf(limit - 1));
    expect(lists.map((query) => query.limit)).toEqual(steps);
    expect(lists).toStrictEqual(
      steps.map((rows, i) => (i === 0 ? { limit: rows } : { after: cursorOf(i * LONG_STEP - 1), limit: rows })),
    );
    expect(meter.rows).toBe(limit + 1);
  });

  test.each([
    [0, 10, 1],
    [10, 10, 1],
    [9, 10, 1],
    [64, 200, 2],
    [65, 200, 2],
    [200, 200, 4],
  ])('of all %i orders with the limit %i is the last one after %i steps', async (entries, limit, steps) => {
    const { list, lists, meter } = fixture({ entries });
    const page = await list({ limit });
    expect(page).toStrictEqual({ orders: page.orders });
    expect(uidsOf(page)).toEqual(range(entries).map(uidOf));
    expect(lists).toHaveLength(steps);
    expect(meter.rows).toBe(entries);
  });

  test('has its offset only in the first step', async () => {
    const { list, lists, cursorOf } = fixture({ entries: 300 });
    expect(uidsOf(await list({ limit: 129, offset: 7 }))).toEqual(range(129).map((n) => uidOf(n + 7)));
    expect(lists).toStrictEqual([
      { offset: 7, limit: 64 },
      { after: cursorOf(70), limit: 64 },
      { after: cursorOf(134), limit: 2 },
    ]);
  });

  test('leaves out a damaged order, counts it, and reports it', async () => {
    const { list, failures, cursorOf } = fixture({ entries: 5, damaged: [1, 3] });
    const page = await list({ limit: 4 });
    expect(uidsOf(page)).toEqual([0, 2].map(uidOf));
    expect(page.next).toEqual(cursorOf(3));
    expect(failures).toHaveLength(2);
  });

  test('as bytes has the texts of the orders between commas', async () => {
    const { list, listBytes, cursorOf } = fixture({ entries: 4, damaged: [1] });
    const texts = (await list({ limit: 3 })).orders.map(({ json }) => json);
    const { bytes, ...page } = await listBytes({ limit: 3 });
    expect(new TextDecoder().decode(bytes)).toBe(`[${texts.join(',')}]`);
    expect(page).toStrictEqual({ count: 2, next: cursorOf(2) });
  });

  test('as bytes has no cursor if it is the last one', async () => {
    const { bytes, ...page } = await fixture({ entries: 0 }).listBytes({ limit: 3 });
    expect(new TextDecoder().decode(bytes)).toBe('[]');
    expect(page).toStrictEqual({ count: 0 });
  });

  test('is read with one other long page at a time', async () => {
    const { open, opened } = createGate();
    const { list, lists } = fixture({ entries: 300, onRead: () => opened });
    const long = range(3).map(() => list({ limit: ORDERS_PER_STEP + 1 }));
    await settle();
    expect(lists).toHaveLength(2);
    const short = [list({ limit: ORDERS_PER_STEP }), list({ limit: 1 })];
    await settle();
    expect(lists).toHaveLength(4);
    open();
    expect((await Promise.all([...long, ...short])).map(({ orders }) => orders.length)).toEqual([
      129, 129, 129, 128, 1,
    ]);
  });

  test('has the statuses of the time at which it is read', async () => {
    const { open, opened } = createGate();
    const { list, lists, time } = fixture({ entries: 300, onRead: () => opened });
    const pages = range(3).map(() => list({ limit: ORDERS_PER_STEP + 1, status: 'open' }));
    await settle();
    time.now += 10;
    open();
    await Promise.all(pages);
    const times = lists.filter(({ after }) => after === undefined).map(({ status }) => status?.now);
    expect(times).toEqual([NOW, NOW, NOW + 10]);
  });

  test('is read while the store of another book does not respond', async () => {
    const stuck = fixture({ entries: 300, onRead: () => new Promise(() => {}) });
    for (let i = 0; i < 3; i++) void stuck.list({ limit: ORDERS_PER_STEP + 1 });
    const { orders } = await fixture({ entries: 300 }).list({ limit: ORDERS_PER_STEP + 1 });
    expect(orders).toHaveLength(129);
  });
});

describe('large offset', () => {
  test.each([
    [129, [128], 17],
    [1000, [999], 125],
    [1001, [999, 0], 126],
    [2500, [999, 999, 499], 313],
  ])('of %i is skipped by queries with the offsets %j', async (offset, offsets, cost) => {
    const { list, lists, cursorOf, meter } = fixture({ entries: 3000 });
    const page = await list({ limit: 2, offset, owner: ALICE });
    expect(uidsOf(page)).toEqual([offset, offset + 1].map(uidOf));
    expect(page.next).toEqual(cursorOf(offset + 1));
    expect(lists.slice(0, -1).map((query) => query.offset ?? 0)).toEqual(offsets);
    expect(lists.slice(0, -1).map(({ owner, limit }) => ({ owner, limit }))).toEqual(
      offsets.map(() => ({ owner: ALICE, limit: 1 })),
    );
    expect(lists.slice(1).map(({ after }) => after)).toEqual(
      offsets.map((_, i) => cursorOf(Math.min((i + 1) * 1000, offset) - 1)),
    );
    expect(lists.at(-1)).toStrictEqual({ owner: ALICE, after: cursorOf(offset - 1), limit: 3 });
    expect(meter.rows).toBe(cost + 3);
  });

  test('begins after the cursor', async () => {
    const { list, lists, cursorOf } = fixture({ entries: 500 });
    expect(uidsOf(await list({ limit: 1, offset: 200, after: cursorOf(99) }))).toEqual([uidOf(300)]);
    expect(lists[0]).toStrictEqual({ after: cursorOf(99), offset: 199, limit: 1 });
  });

  test.each([
    [1500, 2],
    [1000, 2],
    [999, 1],
  ])('has an empty page if there are only %i orders', async (entries, steps) => {
    const { list, lists } = fixture({ entries });
    expect(await list({ limit: 10, offset: 2500 })).toStrictEqual({ orders: [] });
    expect(lists).toHaveLength(steps);
  });

  test('of exactly all orders has an empty page', async () => {
    const { list, lists } = fixture({ entries: 200 });
    expect(await list({ limit: 10, offset: 200 })).toStrictEqual({ orders: [] });
    expect(lists).toHaveLength(2);
  });
});

describe('search', () => {
  test('examines a limited number of entries per step until the page is full', async () => {
    const { list, lists, scans, cursorOf, meter } = fixture({
      entries: 20_000,
      matching: [5, 4500, 4501, 9000],
      scan: 'texts',
    });
    const page = await list({ limit: 2, sellToken: ALICE });
    expect(uidsOf(page)).toEqual([5, 4500].map(uidOf));
    expect(page.next).toEqual(cursorOf(4500));
    expect(lists).toEqual([]);
    expect(scans).toStrictEqual([
      { query: { sellToken: ALICE, limit: 3 }, examine: EXAMINED },
      { query: { sellToken: ALICE, after: cursorOf(3999), limit: 2 }, examine: EXAMINED },
    ]);
    // The order and the examined entries of the first step, then the two orders of the second.
    expect(meter.rows).toBe(1 + 500 + 2);
  });

  test('examines fewer entries per step if each order is read', async () => {
    const { list, scans, meter } = fixture({ entries: 2000, matching: [1200], scan: 'texts' });
    expect(uidsOf(await list({ limit: 2, owner: ALICE }))).toEqual([uidOf(1200)]);
    expect(scans.map(({ examine }) => examine)).toEqual([OWNED, OWNED, OWNED, OWNED]);
    expect(meter.rows).toBe(3 * 64 + 1);
  });

  test('of the last orders has no next page', async () => {
    const { list, scans, meter } = fixture({ entries: 9000, matching: [5, 4500], scan: 'texts' });
    const page = await list({ limit: 2 });
    expect(page).toStrictEqual({ orders: page.orders });
    expect(uidsOf(page)).toEqual([5, 4500].map(uidOf));
    expect(scans).toHaveLength(3);
    expect(meter.rows).toBe(1 + 500 + 1 + 500);
  });

  test('counts a full step as its orders', async () => {
    const { list, scans, cursorOf, meter } = fixture({ entries: 300, scan: 'texts' });
    const page = await list({ limit: 129 });
    expect(uidsOf(page)).toEqual(range(129).map(uidOf));
    expect(page.next).toEqual(cursorOf(128));
    expect(scans.map(({ query }) => query)).toStrictEqual([
      { limit: 64 },
      { after: cursorOf(63), limit: 64 },
      { after: cursorOf(127), limit: 2 },
    ]);
    expect(meter.rows).toBe(130);
  });

  test('ends after 100000 examined entries with the position that it has reached', async () => {
    const { list, scans, cursorOf, meter } = fixture({ entries: 120_000, matching: [10, 110_000], scan: 'texts' });
    const page = await list({ limit: 5, status: 'open' });
    expect(uidsOf(page)).toEqual([uidOf(10)]);
    expect(page.next).toEqual(cursorOf(99_999));
    expect(scans).toHaveLength(25);
    expect(meter.rows).toBe(1 + 25 * 500);
    expect(uidsOf(await list({ limit: 5, status: 'open', after: cursorOf(99_999) }))).toEqual([uidOf(110_000)]);
  });

  test('counts the orders of full steps among the examined entries', async () => {
    const { list, scans, cursorOf } = fixture({ entries: 120_000, matching: range(64), scan: 'texts' });
    const page = await list({ limit: 200 });
    expect(page.orders).toHaveLength(64);
    expect(page.next).toEqual(cursorOf(100_063));
    expect(scans).toHaveLength(26);
  });

  test('does not begin before an offset is skipped', async () => {
    const { list, lists, scans, cursorOf } = fixture({ entries: 300, scan: 'texts' });
    expect(uidsOf(await list({ limit: 129, offset: 7 }))).toEqual(range(129).map((n) => uidOf(n + 7)));
    expect(lists).toStrictEqual([{ offset: 7, limit: 64 }]);
    expect(scans.map(({ query }) => query.after)).toEqual([cursorOf(70), cursorOf(134)]);
  });

  test('uses the bodies that the store has read as bytes', async () => {
    const [encoded, texts] = [
      fixture({ entries: 9, scan: 'bytes', damaged: [1] }),
      fixture({ entries: 9, damaged: [1] }),
    ];
    const [page, expected] = [await encoded.listBytes({ limit: 6 }), await texts.listBytes({ limit: 6 })];
    expect(page).toEqual(expected);
    expect(page.count).toBe(5);
  });
});
