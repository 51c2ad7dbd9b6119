import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { ORDERS_PER_STEP } from '../../../src/orders/list-orders.ts';
import { readTransaction } from '../../../src/orders/read-transaction.ts';
import type { TradeChainEvent, TradeQuery } from '../../../src/ports/chain-store.ts';
import type { Store } from '../../../src/ports/store.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { NOW } from '../../conformance/orders.ts';
import { toRow, uidOf } from './recording-store.ts';

const QUOTE = { body: '{"gasAmount":"1"}', metadata: '{}' };
const HASH: Hex = `0x${'7a'.repeat(32)}`;
/** A store with trades of one transaction, newest first. It records its queries. */
function fixture(trades: readonly number[], damaged: readonly number[] = [], missing: readonly number[] = []) {
  const newest = trades
    .map((n, logIndex) => ({ uid: uidOf(n), blockNumber: 5, logIndex }) as TradeChainEvent) // the members that are read
    .toReversed();
  const queries: TradeQuery[] = [];
  const reads: (readonly Hex[])[] = [];
  const failures: unknown[] = [];
  const inner = memoryStore();
  const store: Store = {
    ...inner,
    traits: { ...inner.traits, verifiesBodies: true },
    chain: {
      ...inner.chain,
      async trades(query) {
        queries.push(query);
        const { after, limit } = query;
        const start = after === undefined ? 0 : newest.findIndex(({ logIndex }) => logIndex === after.logIndex) + 1;
        return newest.slice(start, start + limit);
      },
    },
    orders: {
      ...inner.orders,
      async get(uids) {
        reads.push(uids);
        const rows = [...new Set(trades)].map((n) => ({ ...toRow(n, n), quote: QUOTE }));
        return rows
          .filter(({ uid }) => uids.includes(uid) && !missing.some((n) => uidOf(n) === uid))
          .map((row) => (damaged.some((n) => uidOf(n) === row.uid) ? { ...row, version: -1 } : row));
      },
    },
  };
  const context = {
    store,
    clock: { now: () => NOW * 1000, after: () => () => {} },
    onFailure: (failure: unknown) => failures.push(failure),
  };
  const meter = { rows: 0 };
  return { run: () => readTransaction(HASH, context, { meter }), queries, reads, failures, meter };
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

test('orders of a transaction have the order of its trades, each once and without its quote', async () => {
  const { run, queries, reads, meter } = fixture([3, 1, 3, 2]);
  const orders = await run();
  expect(orders.map(({ uid }) => uid)).toEqual([3, 1, 2].map(uidOf));
  expect(orders.map(({ json }) => 'quote' in JSON.parse(json))).toEqual([false, false, false]);
  expect(queries).toEqual([{ filter: { transactionHash: HASH }, limit: ORDERS_PER_STEP }]);
  expect(reads).toEqual([[3, 1, 2].map(uidOf)]);
  expect(meter.rows).toBe(7);
});

test('a transaction without trades has no orders and reads none', async () => {
  const { run, reads } = fixture([]);
  expect(await run()).toEqual([]);
  expect(reads).toEqual([]);
});

test('trades and orders of a large transaction are read in steps', async () => {
  const { run, queries, reads } = fixture(numbers(ORDERS_PER_STEP + 2));
  expect((await run()).map(({ uid }) => uid)).toEqual(numbers(ORDERS_PER_STEP + 2).map(uidOf));
  expect(queries.map(({ after }) => after?.logIndex)).toEqual([undefined, 2]);
  expect(reads.map(({ length }) => length)).toEqual([ORDERS_PER_STEP, 2]);
});

test('exactly one full step of trades needs a further query, and no further read of orders', async () => {
  const { run, queries, reads } = fixture(numbers(ORDERS_PER_STEP));
  expect(await run()).toHaveLength(ORDERS_PER_STEP);
  expect(queries).toHaveLength(2);
  expect(reads).toHaveLength(1);
});

test('a damaged order is reported and left out, a missing one is left out', async () => {
  const { run, failures } = fixture([1, 2, 3], [1], [2]);
  expect((await run()).map(({ uid }) => uid)).toEqual([uidOf(3)]);
  expect(failures).toMatchObject([{ message: expect.stringContaining('damaged: version') }]);
});

test('a malformed hash is rejected', async () => {
  const context = { store: memoryStore(), clock: { now: () => 0, after: () => () => {} }, onFailure() {} };
  await expect(readTransaction('0x12', context)).rejects.toMatchObject({ code: 'InvalidParameter' });
});
