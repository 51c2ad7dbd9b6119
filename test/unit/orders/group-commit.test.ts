import type { InsertOutcome, NewOrder, OrderInsert, Store } from 'intentbook';
import { StoreError } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { beforeEach, describe, expect, test } from 'vitest';
import type { GroupCommit } from '../../../src/orders/group-commit.ts';
import {
  createGroupCommit,
  MAX_GROUP_SIZE,
  MAX_GROUP_WAIT_MS,
  MAX_INSERT_MS,
  MAX_WAIT_MS,
} from '../../../src/orders/group-commit.ts';
import { BUSY_DELAY_MS } from '../../../src/orders/insert-retries.ts';
import { yieldToEventLoop } from '../../../src/ports/clock.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';

const TOKEN: Hex = `0x${'11'.repeat(20)}`;
const HASH: Hex = `0x${'22'.repeat(32)}`;

function entry(n: number, owner = n): OrderInsert {
  const uid: Hex = `0x${n.toString(16).padStart(112, '0')}`;
  const order: NewOrder = {
    uid,
    owner: `0x${owner.toString(16).padStart(40, '0')}`,
    creationDate: 1_700_000_000_000,
    sellToken: TOKEN,
    buyToken: TOKEN,
    signingScheme: 'eip712',
    validTo: 2_000_000_000,
    appData: HASH,
    state: 'open',
    quotaClass: 'open',
    body: '{}',
  };
  return { order };
}

/** A store that records its calls and fails on command. */
interface Watched {
  readonly store: Store;
  readonly steps: number[];
  /** Rejects every step that contains this order. */
  poison?: Hex;
  down?: Error;
  /** Steps wait for this promise. */
  gate?: Promise<void>;
}

async function watched(clock: ManualClock): Promise<Watched> {
  const inner = memoryStore();
  await inner.open({ domain: { chainId: 1, settlementContract: TOKEN }, clock });
  const steps: number[] = [];
  const watchedStore: Watched = {
    steps,
    store: {
      ...inner,
      async check() {
        if (watchedStore.down) throw watchedStore.down;
      },
      orders: {
        ...inner.orders,
        async insert(inserts, options) {
          steps.push(inserts.length);
          await watchedStore.gate;
          if (watchedStore.down) throw watchedStore.down;
          if (inserts.some(({ order }) => order.uid === watchedStore.poison)) throw new Error('poison');
          if (options?.transaction !== undefined) return inserts.map((): InsertOutcome => ({ status: 'inserted' }));
          return inner.orders.insert(inserts);
        },
      },
    },
  };
  return watchedStore;
}

let clock: ManualClock;
let watchedStore: Watched;
let waiting: number;
let lateEnds: number;
let commits: GroupCommit;

beforeEach(async () => {
  clock = manualClock();
  watchedStore = await watched(clock);
  waiting = 0;
  lateEnds = 0;
  commits = createGroupCommit({
    store: watchedStore.store,
    clock,
    more: () => waiting > 0,
    onLateEnd: () => void lateEnds++,
  });
});

/** Waits until the store was called this many times. */
async function begun(steps: number): Promise<void> {
  while (watchedStore.steps.length < steps) await yieldToEventLoop();
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

describe('group commit', () => {
  test('stores concurrent orders in one step and returns each outcome', async () => {
    const inserts = [entry(1), entry(2), entry(1), { ...entry(3, 2), quota: 1 }];
    const outcomes = await Promise.all(inserts.map((one) => commits.insert([one])));
    expect(watchedStore.steps).toEqual([4]);
    expect(outcomes).toEqual([
      [{ status: 'inserted' }],
      [{ status: 'inserted' }],
      [{ status: 'duplicate' }],
      [{ status: 'quotaExceeded', quota: 1, count: 1 }],
    ]);
  });

  test('keeps the positions of a caller with several orders', async () => {
    const [a, b] = await Promise.all([commits.insert([entry(1), entry(2), entry(1)]), commits.insert([entry(2)])]);
    expect(a.map(({ status }) => status)).toEqual(['inserted', 'inserted', 'duplicate']);
    expect(b.map(({ status }) => status)).toEqual(['duplicate']);
  });

  test('waits for orders that are about to arrive', async () => {
    waiting = 1;
    const first = commits.insert([entry(1)]);
    for (let i = 0; i < 5; i++) await yieldToEventLoop();
    expect(watchedStore.steps).toEqual([]);
    const second = commits.insert([entry(2)]);
    waiting = 0;
    await Promise.all([first, second]);
    expect(watchedStore.steps).toEqual([2]);
  });

  test('waits for a limited time only', async () => {
    waiting = 1;
    const first = commits.insert([entry(1)]);
    await yieldToEventLoop();
    clock.advance(MAX_WAIT_MS);
    await first;
    expect(watchedStore.steps).toEqual([1]);
  });

  test('splits many orders into several steps', async () => {
    const total = 3 * MAX_GROUP_SIZE + 7;
    await Promise.all(numbers(total).map((n) => commits.insert([entry(n)])));
    expect(watchedStore.steps).toEqual([MAX_GROUP_SIZE, MAX_GROUP_SIZE, MAX_GROUP_SIZE, 7]);
  });

  test('does not split a single large call', async () => {
    const many = numbers(MAX_GROUP_SIZE + 1).map((n) => entry(n));
    await Promise.all([commits.insert(many), commits.insert([entry(1000)])]);
    expect(watchedStore.steps).toEqual([MAX_GROUP_SIZE + 1, 1]);
  });
});

describe('group commit failure', () => {
  test('fails only the call that caused it', async () => {
    watchedStore.poison = entry(3).order.uid;
    const results = await Promise.allSettled(numbers(5).map((n) => commits.insert([entry(n)])));
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await watchedStore.store.orders.get(numbers(5).map((n) => entry(n).order.uid))).toHaveLength(4);
    delete watchedStore.poison;
    expect(await commits.insert([entry(3)])).toEqual([{ status: 'inserted' }]);
  });

  test('fails all calls if the store fails, without a retry for each', async () => {
    watchedStore.down = new Error('the disk is gone');
    const results = await Promise.allSettled(numbers(50).map((n) => commits.insert([entry(n)])));
    for (const result of results) expect(result).toEqual({ status: 'rejected', reason: watchedStore.down });
    expect(watchedStore.steps).toEqual([50, 1]);
  });
});

test.each([
  ['a value that does not fit', new StoreError('InvalidValue', 'too large'), true, 'fulfilled'],
  ['a lock that is held for too long', new StoreError('Unavailable', 'another transaction'), true, 'fulfilled'],
  ['a database that is not available', new StoreError('Unavailable', 'offline'), false, 'rejected'],
] as const)(
  'group commit retries the other members after %s only if the store itself works',
  async (_, failure, works, status) => {
    const calls: number[] = [];
    const insert: Store['orders']['insert'] = async (inserts) => {
      calls.push(inserts.length);
      if (inserts.some(({ order }) => order.uid === entry(2).order.uid)) throw failure;
      return inserts.map((): InsertOutcome => ({ status: 'inserted' }));
    };
    const check = async () => {
      if (!works) throw failure;
    };
    const store = { ...watchedStore.store, check, orders: { ...watchedStore.store.orders, insert } };
    const grouped = createGroupCommit({ store, clock, more: () => false, onLateEnd() {} });
    const results = await Promise.allSettled(numbers(3).map((n) => grouped.insert([entry(n)])));
    expect(results.map((result) => result.status)).toEqual([status, 'rejected', status]);
    expect(calls).toEqual(status === 'fulfilled' ? [3, 1, 1, 1] : [3]);
  },
);

test('group commit retries the other members only while the store can be used', async () => {
  let checks = 0;
  const insert: Store['orders']['insert'] = async (inserts) => {
    if (inserts.some(({ order }) => order.uid === entry(2).order.uid)) throw new Error('of this order, or of the disk');
    return inserts.map((): InsertOutcome => ({ status: 'inserted' }));
  };
  const check = async () => {
    checks++;
    throw new Error('offline');
  };
  const store = { ...watchedStore.store, check, orders: { ...watchedStore.store.orders, insert } };
  const grouped = createGroupCommit({ store, clock, more: () => false, onLateEnd() {} });
  const results = await Promise.allSettled(numbers(4).map((n) => grouped.insert([entry(n)])));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
  expect(checks).toBe(1);
});

test('group commit does not wait for owners with a running write', async () => {
  const options: unknown[] = [];
  const insert: Store['orders']['insert'] = async (inserts, given) => {
    options.push(given);
    if (inserts.length > 1) throw new Error('one of them');
    return inserts.map((): InsertOutcome => ({ status: 'inserted' }));
  };
  const store = { ...watchedStore.store, orders: { ...watchedStore.store.orders, insert } };
  const grouped = createGroupCommit({ store, clock, more: () => false, onLateEnd() {} });
  await Promise.all(numbers(2).map((n) => grouped.insert([entry(n)])));
  expect(options).toEqual([{ skipLocked: true }, { skipLocked: true }, { skipLocked: true }]);
});

test('group commit begins when a full step has arrived, although more orders are expected', async () => {
  waiting = 1;
  const results = numbers(MAX_GROUP_SIZE).map((n) => commits.insert([entry(n)]));
  await Promise.all(results);
  expect(watchedStore.steps).toEqual([MAX_GROUP_SIZE]);
});

test.each([
  [16, 1],
  [17, 3],
  [33, 4],
])('group commit returns the results of %i callers in %i ticks', async (count, ticks) => {
  let counted = 0;
  const nextTick = async () => {
    counted++;
    await yieldToEventLoop();
  };
  const grouped = createGroupCommit({ store: watchedStore.store, clock, more: () => false, onLateEnd() {}, nextTick });
  await Promise.all(numbers(count).map((n) => grouped.insert([entry(n)])));
  expect(counted).toBe(ticks); // one of them before the step
});

test('group commit excludes calls within a host transaction', async () => {
  const joined = commits.insert([entry(1)], { transaction: {} });
  expect(watchedStore.steps).toEqual([1]); // synchronously
  expect(await joined).toEqual([{ status: 'inserted' }]);
});

test('group commit step without a result delays later calls only until a timeout', async () => {
  let open = () => {};
  watchedStore.gate = new Promise((resolve) => {
    open = resolve;
  });
  const stuck = commits.insert([entry(1)]);
  await begun(1);
  delete watchedStore.gate;
  const next = commits.insert([entry(2)]);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  expect(watchedStore.steps).toEqual([1]);
  clock.advance(MAX_GROUP_WAIT_MS);
  expect(await next).toEqual([{ status: 'inserted' }]);
  open();
  expect(await stuck).toEqual([{ status: 'inserted' }]);
});

test('group commit step without a result has an unknown outcome after a timeout', async () => {
  let open = () => {};
  watchedStore.gate = new Promise((resolve) => {
    open = resolve;
  });
  const results = [commits.insert([entry(1), entry(2)]), commits.insert([entry(3)])];
  await begun(1);
  clock.advance(MAX_GROUP_WAIT_MS);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  clock.advance(MAX_INSERT_MS - MAX_GROUP_WAIT_MS);
  const unknown = { status: 'unknown' };
  expect(await Promise.all(results)).toEqual([[unknown, unknown], [unknown]]);
  expect(lateEnds).toBe(0);
  open();
  await commits.drained();
  expect(lateEnds).toBeGreaterThan(0); // listeners receive the entries
  expect(await watchedStore.store.orders.get([entry(1).order.uid])).toHaveLength(1);
  expect(clock.pending).toBe(0);
});

test.each([
  ['forwards', 3_600_000],
  ['backwards', -3_600_000],
])('group commit step has its time when the clock steps %s', async (_, step) => {
  watchedStore.gate = new Promise(() => {});
  let outcome: unknown;
  void commits.insert([entry(1)]).then((outcomes) => {
    outcome = outcomes;
  });
  await begun(1);
  clock.jump(step);
  clock.advance(MAX_GROUP_WAIT_MS);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  clock.advance(MAX_INSERT_MS - MAX_GROUP_WAIT_MS - 1);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  expect(outcome).toBeUndefined();
  clock.advance(1);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  expect(outcome).toEqual([{ status: 'unknown' }]);
});

test('group commit limits the time of busy orders from their first insert on', async () => {
  const clock = manualClock();
  const { store } = await watched(clock);
  let calls = 0;
  const commits = createGroupCommit({
    store: {
      ...store,
      orders: {
        ...store.orders,
        // The second insert has no result.
        insert: async () => (++calls > 1 ? new Promise<never>(() => {}) : [{ status: 'busy' }]),
      },
    },
    clock,
    more: () => false,
    onLateEnd() {},
  });
  const result = commits.insert([entry(1)]);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  clock.advance(BUSY_DELAY_MS);
  while (calls < 2) await yieldToEventLoop();
  clock.advance(MAX_GROUP_WAIT_MS);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  clock.advance(MAX_INSERT_MS - MAX_GROUP_WAIT_MS - BUSY_DELAY_MS);
  expect(await result).toEqual([{ status: 'unknown' }]);
});

test('drained waits for all submitted calls', async () => {
  let open = () => {};
  watchedStore.gate = new Promise((resolve) => {
    open = resolve;
  });
  const log: string[] = [];
  const stored = commits.insert([entry(1)]).then(() => log.push('stored'));
  const drained = commits.drained().then(() => log.push('drained'));
  await begun(1);
  clock.advance(MAX_WAIT_MS);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  expect(log).toEqual([]);
  open();
  await Promise.all([stored, drained]);
  expect(log).toEqual(['stored', 'drained']);
  await commits.drained(); // without a delay
});

test('group commit: a failed retry of busy orders keeps the outcomes of the others', async () => {
  const clock = manualClock();
  const { store } = await watched(clock);
  let calls = 0;
  const commits = createGroupCommit({
    store: {
      ...store,
      orders: {
        ...store.orders,
        async insert() {
          if (++calls > 1) throw new StoreError('Unavailable', 'the store is down');
          return [{ status: 'busy' }, { status: 'inserted' }];
        },
      },
    },
    clock,
    more: () => false,
    onLateEnd() {},
  });
  const result = commits.insert([entry(1), entry(2)]);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  clock.advance(BUSY_DELAY_MS);
  expect(await result).toEqual([{ status: 'busy' }, { status: 'inserted' }]);
});
