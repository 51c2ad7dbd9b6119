import type { Address, Hex, UpstreamDifference, UpstreamOrder, UpstreamRead } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import type { UpstreamBook } from '../../../src/upstream/context.ts';
import { createImport, NEW_OWNER } from '../../../src/upstream/import.ts';
import { createTasks, put } from '../../../src/upstream/tasks.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';
import { createRandom } from '../../support/upstream/bad-proxy.ts';

const random = createRandom(22);

const OWNER: Address = `0x${'a1'.repeat(20)}`;

/** Returns rows with the given creation dates. The import reads nothing else of them. */
const rowsOf = (dates: readonly number[]) =>
  dates.map(
    (creationDate, i) =>
      ({ uid: `0x${i.toString(16).padStart(112, '0')}`, creationDate, status: 'open' }) as unknown as UpstreamOrder,
  );

interface Choice {
  readonly hours?: number;
  /** Milliseconds between two newest pages. */
  readonly pause?: number;
  readonly isReadable?: (row: UpstreamOrder) => boolean;
  /** Rows that make each page fail that contains them, by position. */
  readonly broken?: readonly number[];
}

/**
 * Imports all rows of an owner, and lets some hours pass. `arrange` is called for each read. Returns the UIDs that were
 * stored.
 */
async function importAll(
  rows: readonly UpstreamOrder[],
  arrange: (rows: readonly UpstreamOrder[]) => readonly UpstreamOrder[],
  { hours = 0, pause = 3_600_000, isReadable = () => true, broken = [] }: Choice = {},
) {
  const clock = manualClock();
  const store = memoryStore();
  await store.open({ domain: SEPOLIA_DOMAIN, clock });
  const tasks = createTasks(store);
  const stored = new Set<Hex>();
  const read = <T>(value: T): UpstreamRead<T> => ({ status: 'read', value, startedAt: clock.now(), host: 'other' });
  const upstream = {
    name: 'other',
    listTrades: async () => read([]),
    listOrders: async (_: Address, { offset, limit }: { offset: number; limit: number }) => {
      if (broken.some((i) => i >= offset && i < offset + limit))
        return { status: 'failed', reason: 'it fails', httpStatus: 500 };
      const page = arrange(rows).slice(offset, offset + limit);
      return read({ orders: page.filter(isReadable), rows: page.map(({ uid }) => uid) });
    },
  };
  const orders = {
    ...store.orders,
    get: async (uids: Hex[]) => uids.filter((uid) => stored.has(uid)).map((uid) => ({ uid })),
  };
  const reported: UpstreamDifference[] = [];
  const differs = { notify: (difference: UpstreamDifference) => void reported.push(difference) };
  const onFailure = () => {};
  const book = { upstream, store: { ...store, orders }, tasks, clock, differs, onFailure } as unknown as UpstreamBook;
  const schedule = { next: async () => clock.now() + pause };
  const owners = createImport(book, schedule, {
    storeNew: async (orders) => {
      const added = orders.filter(({ uid }) => !stored.has(uid));
      for (const { uid } of added) stored.add(uid);
      return added.length;
    },
    adoptTrades: async () => 0,
  });
  await tasks.write([put('owner', OWNER, clock.now(), NEW_OWNER, 0)]);
  let steps = 0;
  for (let passed = 0; passed <= hours * 3_600_000; passed += pause) {
    while (await owners.step()) if (++steps > 1000) throw new Error('the import does not end');
    clock.advance(pause);
  }
  return { stored, steps, reported };
}

/** Sorts rows newest first, in any order of equal dates. */
function shuffled(rows: readonly UpstreamOrder[]): UpstreamOrder[] {
  return rows
    .map((row) => ({ row, by: random() }))
    .sort((a, b) => b.row.creationDate - a.row.creationDate || a.by - b.by)
    .map(({ row }) => row);
}

describe('an import', () => {
  test.each([
    ['rows of one time at a page border', [...Array(980).keys(), ...Array(80).fill(980), ...Array(500).keys()]],
    ['many groups of rows of one time', Array.from({ length: 4000 }, (_, i) => Math.floor(i / 70))],
    ['a group that is larger than a page', [...Array(10).keys(), ...Array(1500).fill(10), 11]],
    ['a group that fills a page after its overlap', [...Array(900).fill(1), ...Array(1200).keys()]],
  ])('scenario 22: loses no row and ends: %s', async (name, dates) => {
    const rows = rowsOf(dates);
    // A group of more than a page cannot be read completely if each read has another order.
    const fixed = shuffled(rows);
    const { stored } = await importAll(rows, name.includes('larger') ? () => fixed : shuffled);
    expect(stored.size).toBe(rows.length);
  });

  test('scenario 20: loses no row if rows before it are removed between two pages', async () => {
    const all = rowsOf(Array.from({ length: 3000 }, (_, i) => 10_000_000 - i * 1000));
    let reads = 0;
    const { stored } = await importAll(all, () => (++reads === 1 ? all : all.slice(100)));
    expect(all.slice(100).filter(({ uid }) => !stored.has(uid))).toEqual([]);
  });

  test('scenario 20: steps back in pages if the last row of a page is removed itself', async () => {
    const all = rowsOf(Array.from({ length: 20_000 }, (_, i) => 100_000_000 - i * 1000));
    let reads = 0;
    const arrange = () => (++reads <= 12 ? all : all.filter((_, i) => i < 11_000 || i > 12_500));
    const { stored, steps } = await importAll(all, arrange);
    expect(all.filter(({ uid }, i) => (i < 11_000 || i > 12_500) && !stored.has(uid))).toEqual([]);
    expect(steps).toBeLessThan(60); // 21 pages, and 12 of them again
  });

  test('scenario 36: ends although many rows at a page border cannot be read, and reports each of them once', async () => {
    const all = rowsOf(Array.from({ length: 3000 }, (_, i) => 100_000_000 - i * 1000));
    const unread = new Set(all.slice(950, 1100));
    const { stored, reported } = await importAll(all, (rows) => rows, { isReadable: (row) => !unread.has(row) });
    expect(stored.size).toBe(2850);
    expect(reported.map(({ uid }) => uid)).toEqual([...unread].map(({ uid }) => uid));
  });

  test.each([[[30]], [[30, 40]], [[0, 1, 30]], [[30, 46, 47, 70, 199]], [[0, 1, 2]], [[0, 30, 31]], [[0, 198, 199]]])(
    'leaves out the broken rows %j only, and reports each of them',
    async (broken) => {
      const all = rowsOf(Array.from({ length: 200 }, (_, i) => 100_000_000 - i * 1000));
      const { stored, reported } = await importAll(all, (rows) => rows, { broken });
      expect([...all.keys()].filter((i) => !stored.has((all[i] as UpstreamOrder).uid))).toEqual(broken);
      expect(reported.map(({ local }) => local)).toEqual(broken.map((i) => `row ${i} of the orders of ${OWNER}`));
    },
  );

  test.each([5, 100])('that ends is not begun again at once for the broken row %i', async (row) => {
    const all = rowsOf(Array.from({ length: 200 }, (_, i) => 1_700_000_000_000 - i * 1000));
    const once = await importAll(all, (rows) => rows, { broken: [row] });
    const hour = await importAll(all, (rows) => rows, { broken: [row], hours: 1, pause: 60_000 });
    expect(hour.stored.size).toBe(199);
    expect(hour.steps).toBeLessThan(7 * once.steps + 60); // once in ten minutes, and the newest pages
  });

  test('scenario 21: finds a row that was added late behind its position within a day', async () => {
    const all = rowsOf(Array.from({ length: 3000 }, (_, i) => 1_700_000_000_000 - i * 60_000));
    const late = all[501];
    let reads = 0;
    const { stored } = await importAll(all, () => (++reads === 1 ? all.filter((row) => row !== late) : all), {
      hours: 25,
    });
    expect(stored.size).toBe(3000);
  });
});
