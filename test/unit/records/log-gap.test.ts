import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { findGapEnd, isAfterGap } from '../../../src/records/event-log.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

/** Starts a book with six orders, so that its log has six entries. */
async function bookWithLog() {
  const store = memoryStore();
  const book = createOrderBook({ chainId: SEPOLIA, store, expiryInterval: 'off' });
  await book.start();
  const submit = async (seed: number) => {
    const result = await book.orders.submit(
      await signOrder(account(1), { validTo: Math.floor(book.clock.now() / 1000) + 3600 + seed }),
    );
    if (result.status === 'rejected') throw result.error;
    return result.uid;
  };
  const uids: string[] = [];
  for (let seed = 1; seed <= 6; seed++) uids.push(await submit(seed));
  const prune = (through: number) =>
    store.retention.pruneEvents({ before: Number.POSITIVE_INFINITY, through, limit: 100 });
  return { book, uids, prune, submit };
}

describe('log gap', () => {
  test('precedes a page that does not begin with the next entry', () => {
    expect(isAfterGap(0, [{ id: 1 }])).toBe(false);
    expect(isAfterGap(4, [{ id: 5 }, { id: 9 }])).toBe(false);
    expect(isAfterGap(4, [{ id: 6 }])).toBe(true);
    expect(isAfterGap(4, [])).toBe(false);
  });

  test.each([
    [4, [], undefined],
    [4, [5, 6, 7], undefined],
    [4, [6, 7], 6],
    [4, [5, 9, 10], 9],
    [4, [6, 7, 9], 9],
    [4, [6, 8, 10], 10],
  ])('after position %i in the page %j ends before entry %s', (after, ids, end) => {
    const page = ids.map((id) => ({ id }));
    expect(findGapEnd(after, page)).toBe(end);
  });
});

describe('stream over a log with deleted entries', () => {
  test.each([1, 3])('resumes after %i with a gap up to the first entry that is left', async (after) => {
    const { book, prune } = await bookWithLog();
    await prune(4);
    const stream = await book.orders.stream({}, { after });
    const events = [];
    for await (const event of stream) {
      events.push(event.type === 'gap' ? event : { type: event.type, id: event.id });
      if (events.length === 3) break;
    }
    expect(events).toEqual([
      { type: 'gap', from: after + 1, to: 4 },
      { type: 'order', id: 5 },
      { type: 'order', id: 6 },
    ]);
    await book.close();
  });

  test('has no gap if the reader has seen the deleted entries', async () => {
    const { book, prune } = await bookWithLog();
    await prune(4);
    const stream = await book.orders.stream({}, { after: 4 });
    for await (const event of stream) {
      expect(event).toMatchObject({ type: 'order', id: 5 });
      break;
    }
    await book.close();
  });

  test('returns current orders and auctions after entries were deleted', async () => {
    const { book, uids, prune, submit } = await bookWithLog();
    await book.orders.get(uids[0] ?? '');
    await book.auctions.current();
    const added = await submit(7);
    await submit(8);
    await prune(7);
    const auction = await book.auctions.current();
    expect(auction?.orders.map(({ uid }) => uid)).toContain(added);
    expect(await book.log.prunedThrough()).toBe(7);
    await book.close();
  });
});
