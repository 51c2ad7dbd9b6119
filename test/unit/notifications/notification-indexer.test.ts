import { setImmediate as nextTick } from 'node:timers/promises';
import type { AccountStore, Hex, NotificationBatch, StoredEvent } from 'intentbook';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import { createNotificationIndexer } from '../../../src/notifications/notification-indexer.ts';
import { manualClock } from '../../support/clock.ts';

const uid = (n: number): Hex => `0x${n.toString(16).padStart(112, '0')}`;
const OWNER: Hex = `0x${'a'.repeat(40)}`;
const entry = (id: number, type: StoredEvent['type'] = 'created', of = id): StoredEvent => ({
  id,
  type,
  uid: uid(of),
  owner: OWNER,
  at: 0,
});
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

type Outcome = { readonly status: 'appended'; readonly changed: number } | { readonly status: 'moved' };

/** An indexer over a scripted log and store, and the calls that it makes. */
function fixture(log: readonly StoredEvent[], { cursor = null as number | null, pruned = 0 } = {}) {
  const clock = manualClock();
  const state = { cursor, appended: 0, watchers: 0 };
  const outcomes: (Outcome | Error)[] = [];
  const appends: NotificationBatch[] = [];
  const reads: number[] = [];
  const orders: (readonly Hex[])[] = [];
  const marks: (readonly string[])[] = [];
  const failures: unknown[] = [];
  let wake = () => {};
  const book = {
    feed: 'log 1 0x00',
    env: 'local',
    book: {
      chainId: 1,
      log: {
        async after(after: number, limit: number) {
          reads.push(after);
          return log.filter(({ id }) => id > after).slice(0, limit);
        },
        prunedThrough: async () => pruned,
        watch(callback: () => void) {
          state.watchers++;
          wake = callback;
          return () => void state.watchers--;
        },
      },
      orders: {
        async getMany(uids: readonly Hex[]) {
          orders.push(uids);
          return uids.map((each) => ({ error: { uid: each } })); // rows that cannot be read
        },
      },
    },
  } as unknown as KnownBook; // the members that are used
  const store = {
    notifications: {
      cursor: async () => state.cursor,
      async marks(_feed: string, keys: readonly string[]) {
        marks.push(keys);
        return keys.map((key) => ({ key, value: null }));
      },
      async append(append: NotificationBatch) {
        appends.push(append);
        const outcome = outcomes.shift() ?? { status: 'appended', changed: 0 };
        if (outcome instanceof Error) throw outcome;
        if (outcome.status === 'appended') state.cursor = append.through;
        return outcome;
      },
    },
  } as unknown as AccountStore; // the members that are used
  const indexer = createNotificationIndexer({
    book,
    store,
    clock,
    tokens: async () => undefined,
    retention: undefined,
    revertedNotifications: false,
    onAppended: () => void state.appended++,
    onFailure: (failure) => void failures.push(failure),
  });
  const settle = async () => {
    for (let i = 0; i < 8; i++) await nextTick();
  };
  const start = async () => {
    onTestFinished(() => indexer.stop());
    indexer.start();
    await settle();
  };
  return {
    clock,
    state,
    outcomes,
    appends,
    reads,
    orders,
    marks,
    failures,
    indexer,
    start,
    settle,
    wake: () => wake(),
  };
}

describe('notification indexer', () => {
  test('begins at the start of the log, and moves the cursor past each page', async () => {
    const { start, appends, reads } = fixture(range(1, 401).map((id) => entry(id)));
    await start();
    expect(reads).toEqual([0, 199, 399]);
    expect(appends.map(({ feed, after, through }) => [feed, after, through])).toEqual([
      ['log 1 0x00', null, 200],
      ['log 1 0x00', 200, 400],
      ['log 1 0x00', 400, 401],
    ]);
  });

  test('reads once more after a full page, since the log may have more', async () => {
    const { start, reads, appends } = fixture(range(1, 200).map((id) => entry(id)));
    await start();
    expect(reads).toEqual([0, 199]);
    expect(appends).toHaveLength(1);
  });

  test('reads no further after a page that is not full', async () => {
    const { start, reads } = fixture(range(1, 199).map((id) => entry(id)));
    await start();
    expect(reads).toEqual([0]);
  });

  test('writes nothing without new entries', async () => {
    const { start, appends, reads } = fixture([entry(1)], { cursor: 1 });
    await start();
    expect([reads, appends]).toEqual([[0], []]);
  });

  test('reads again from the new cursor if another process has moved it', async () => {
    const { start, state, outcomes, appends, reads } = fixture([entry(1), entry(2)]);
    outcomes.push({ status: 'moved' });
    await start();
    expect(reads).toEqual([0, 0]);
    expect(appends).toHaveLength(2);
    expect(state.appended).toBe(0);
  });

  test.each([
    [{ status: 'appended', changed: 3 }, 1],
    [{ status: 'appended', changed: 0 }, 0],
  ] as const)('after the outcome %j announces new notifications %i times', async (outcome, times) => {
    const { start, state, outcomes } = fixture([entry(1)]);
    outcomes.push(outcome);
    await start();
    expect(state.appended).toBe(times);
  });

  test('ends the search of a log that is read again when it stops', async () => {
    const { indexer, start, reads, appends } = fixture(
      range(1, 5000).map((id) => entry(id)),
      { cursor: 9000 },
    );
    await start();
    await indexer.stop();
    expect(reads.length).toBeLessThan(20);
    expect(appends).toEqual([]);
  });

  test('reads the orders and the progress of the entries that need them, each once', async () => {
    const { start, orders, marks } = fixture([
      entry(1, 'created', 1),
      entry(2, 'traded', 2),
      entry(3, 'traded', 2),
      entry(4, 'cancelled', 3),
      entry(5, 'expired', 4),
      entry(6, 'presigned', 5),
      entry(7, 'reverted', 6),
    ]);
    await start();
    expect(orders).toEqual([[2, 3, 4].map(uid)]);
    expect(marks).toEqual([[3, 5, 6].map(uid)]);
  });

  test.each([
    ['a hole that retention has left', { cursor: 2, pruned: 5 }, [6], 'entries 3 to 5 of the log 1 0x00 were deleted'],
    ['no hole', { cursor: 2, pruned: 2 }, [3], undefined],
    ['a new log epoch, without deletions', { cursor: 2, pruned: 0 }, [6], undefined],
    ['deletions up to its cursor', { cursor: 2, pruned: 2 }, [6], undefined],
    ['deletions before its first start', { cursor: null, pruned: 5 }, [6], undefined],
  ])('with %s reports lost entries only', async (_, options, ids, message) => {
    const { start, failures, appends } = fixture(
      ids.map((id) => entry(id)),
      options,
    );
    await start();
    const messages = failures.map((failure) => (failure instanceof Error ? failure.message : ''));
    expect(messages).toEqual(message === undefined ? [] : [expect.stringContaining(message)]);
    expect(appends).toHaveLength(1);
  });

  test('runs after a signal of the log, and every second without one', async () => {
    const { start, wake, settle, clock, reads } = fixture([entry(7)], { cursor: 7 });
    await start();
    expect(reads).toEqual([6]);
    wake();
    await settle();
    expect(reads).toHaveLength(2);
    clock.advance(999);
    await settle();
    expect(reads).toHaveLength(2);
    clock.advance(1);
    await settle();
    expect(reads).toHaveLength(3);
  });

  test('reports a failure, and repeats the step after a second', async () => {
    const { start, outcomes, settle, clock, failures, appends, state } = fixture([entry(1)]);
    outcomes.push(new Error('lost'));
    await start();
    expect(failures).toEqual([new Error('lost')]);
    expect(appends).toHaveLength(1);
    expect(state.appended).toBe(1); // the entries may be stored
    clock.advance(1000);
    await settle();
    expect(appends).toHaveLength(2);
  });

  test('stops between two pages, and no longer watches the log', async () => {
    const { indexer, state, reads } = fixture(range(1, 2000).map((id) => entry(id)));
    indexer.start();
    expect(state.watchers).toBe(1);
    await indexer.stop();
    expect(state.watchers).toBe(0);
    expect(reads.length).toBeLessThan(3);
  });
});
