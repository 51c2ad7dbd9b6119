import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Order, Store } from 'intentbook';
import { createOrderBook, UNKNOWN_HASH } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { sqliteStore } from 'intentbook/sqlite';
import { afterEach, describe, expect, test } from 'vitest';
import type { Table } from '../../../apps/server/commands/table-export/columns.ts';
import { splitAmount } from '../../../apps/server/commands/table-export/columns.ts';
import { exportTable } from '../../../apps/server/commands/table-export/index.ts';
import { exportNotifications } from '../../../apps/server/commands/table-export/notification-table.ts';
import { exportOrders } from '../../../apps/server/commands/table-export/order-table.ts';
import { exportTrades } from '../../../apps/server/commands/table-export/trade-table.ts';
import { blockOf, eventsIn, tradeOf } from '../../support/chain-events.ts';
import { queryDuckDb } from '../../support/duckdb.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { accountFixture } from '../../unit/accounts/accounts-fixture.ts';
import { cleanUp, intentbook, scratch } from './process.ts';

afterEach(cleanUp);

const PROGRESS = { at() {}, end() {} };
const FORMATS = ['csv', 'parquet'] as const;

/** A function that reads a file in SQL. Every column of a CSV file is text, unless it is cast. */
const from = (file: string) => (file.endsWith('.csv') ? `read_csv('${file}', all_varchar = true)` : `'${file}'`);

/** Adds up the parts of an amount in DuckDB. */
async function sumInDuckDb(file: string, column: string): Promise<bigint> {
  const part = (name: string) => `coalesce(sum(${name}::DECIMAL(38,0)), 0)::VARCHAR`;
  const sql = `SELECT ${part(`${column}_hi`)} AS high, ${part(`${column}_lo`)} AS low FROM ${from(file)}`;
  const [row] = await queryDuckDb(sql);
  return BigInt(String(row?.['high'])) * 10n ** 30n + BigInt(String(row?.['low']));
}

const sum = (amounts: readonly string[]) => amounts.reduce((total, amount) => total + BigInt(amount), 0n);

/** A book with orders of large amounts, their trades, and a reorganisation. */
async function tradedBook() {
  const store = memoryStore();
  const fixture = await accountFixture({ bookOptions: { store } });
  const orders: Order[] = [];
  for (let i = 0; i < 8; i++) {
    const sellAmount = String(10n ** BigInt(9 * i + 3) * 7n + BigInt(i));
    orders.push(await fixture.order({ sellAmount, buyAmount: '1000', partiallyFillable: true }));
  }
  const half = (order: Order) => tradeOf(order, BigInt(order.sellAmount) / 2n, 500n);
  await fixture.applyBlock(1, orders.slice(0, 4).map(half));
  await fixture.applyBlock(2, orders.slice(2, 7).map(half), 'b');
  await fixture.book.chain.rollback(1);
  await fixture.applyBlock(2, orders.slice(3, 6).map(half), 'c');
  await fixture.settled();
  return { ...fixture, accountStore: fixture.store, store, orders };
}

async function write(table: Promise<Table>, path: string, name: 'orders' | 'trades' | 'notifications' = 'orders') {
  return exportTable(name, await table, path, PROGRESS);
}

test('an amount below 10^68 is split into two parts of which 10^8 can be added up', () => {
  const amounts = fc.bigInt({ min: -(10n ** 68n) + 1n, max: 10n ** 68n - 1n });
  fc.assert(
    fc.property(fc.oneof(amounts, fc.bigInt({ min: -1000n, max: 1000n })), (amount) => {
      const parts = splitAmount(String(amount));
      assert.ok(parts);
      const [high, low] = [BigInt(parts.high), BigInt(parts.low)];
      expect(high * 10n ** 30n + low).toBe(amount);
      expect(String(low)).toBe(parts.low);
      expect(low * 10n ** 8n < 10n ** 38n && low * 10n ** 8n > -(10n ** 38n)).toBe(true);
    }),
  );
  expect(splitAmount(String(10n ** 68n))).toBeUndefined();
});

test('trades: the hash of a block that only another book has reported is empty', async () => {
  const { store, orders } = await tradedBook();
  const [known] = await store.chain.trades({ filter: { uid: orders[0]?.uid ?? '0x' }, limit: 1 });
  assert.ok(known);
  await store.chain.adopt([{ ...known, blockNumber: 9, blockHash: UNKNOWN_HASH }], 0);
  const { columns, batches } = await exportTrades(store);
  const rows: (readonly unknown[])[] = [];
  for await (const batch of batches) rows.push(...batch);
  const names = columns.map(({ name }) => name);
  const read = (name: string) => rows.map((row) => [row[names.indexOf('block_number')], row[names.indexOf(name)]]);
  expect(read('block_hash').filter(([, hash]) => hash === null)).toEqual([[9, null]]);
  expect(read('transaction_hash').at(-1)).toEqual([9, known.transactionHash]);
});

describe.each(FORMATS)('export to %s', (format) => {
  test('trades: sums in DuckDB are those of the book, also after a reorganisation', async () => {
    const { store, book, orders } = await tradedBook();
    const file = join(await scratch(), `trades.${format}`);
    const { rows, cursor } = await write(exportTrades(store), file, 'trades');
    expect([rows, cursor]).toEqual([4 + 5 + 5 + 3, await book.log.last()]);
    const trades = (await Promise.all(orders.map(({ uid }) => book.trades.list({ orderUid: uid })))).flat();
    expect(trades.length).toBe(7);
    expect(await sumInDuckDb(file, 'sell_amount')).toBe(sum(trades.map(({ sellAmount }) => sellAmount)));
    expect(await sumInDuckDb(file, 'buy_amount')).toBe(3500n);
    const events = await queryDuckDb(
      `SELECT event, count(*)::INTEGER AS n, min(sell_token) AS token FROM ${from(file)} GROUP BY event ORDER BY event`,
    );
    const token = orders[0]?.sellToken;
    expect(events).toEqual([
      { event: 'reverted', n: 5, token },
      { event: 'traded', n: 12, token },
    ]);
  });

  test('orders: sums in DuckDB are those of the book, amounts are exact texts', async () => {
    const { store, orders, book } = await tradedBook();
    const file = join(await scratch(), `orders.${format}`);
    expect((await write(exportOrders(store, undefined), file)).rows).toBe(8);
    const current = await Promise.all(orders.map(({ uid }) => book.orders.get(uid)));
    const executed = sum(current.map((order) => order?.executedSellAmount ?? '0'));
    expect(await sumInDuckDb(file, 'executed_sell_amount')).toBe(executed);
    expect(await sumInDuckDb(file, 'sell_amount')).toBe(sum(orders.map(({ sellAmount }) => sellAmount)));
    const read = await queryDuckDb(
      `SELECT uid, sell_amount, created_at::TIMESTAMP::VARCHAR AS at, valid_to::TIMESTAMP::VARCHAR AS until,
        partially_fillable::BOOLEAN AS partial FROM ${from(file)} ORDER BY length(sell_amount)`,
    );
    expect(read).toEqual(
      orders.map(({ uid, sellAmount, creationDate, validTo }) => ({
        uid,
        sell_amount: sellAmount,
        at: creationDate.replace('T', ' ').replace(/(\.000)?Z$/, ''),
        until: new Date(validTo * 1000).toISOString().replace('T', ' ').replace('.000Z', ''),
        partial: true,
      })),
    );
  });

  test('changes after a cursor complete an earlier export', async () => {
    const { store, book, order, applyBlock, orders } = await tradedBook();
    const folder = await scratch();
    const paths = ['first', 'second', 'whole', 'changed'].map((name) => join(folder, `${name}.${format}`));
    const [first = '', second = '', whole = '', changed = ''] = paths;
    const { cursor } = await write(exportTrades(store), first, 'trades');
    const fresh = await order({ sellAmount: '77', buyAmount: '7' });
    const [old] = orders;
    assert.ok(old);
    await applyBlock(3, [tradeOf(fresh, 77n, 8n), tradeOf(old, 10n, 1n)]);
    expect((await write(exportTrades(store, cursor), second, 'trades')).rows).toBe(2);
    await write(exportTrades(store), whole, 'trades');
    for (const column of ['sell_amount', 'buy_amount']) {
      const parts = [await sumInDuckDb(first, column), await sumInDuckDb(second, column)];
      expect(parts.reduce((a, b) => a + b)).toBe(await sumInDuckDb(whole, column));
    }
    expect((await write(exportOrders(store, cursor), changed)).rows).toBe(2);
    const states = await queryDuckDb(`SELECT uid, state FROM ${from(changed)} ORDER BY state`);
    expect(states).toEqual([
      { uid: fresh.uid, state: 'fulfilled' },
      { uid: old.uid, state: 'open' },
    ]);
    const last = await book.log.last();
    await expect(exportTrades(store, last + 1)).rejects.toThrow('after must be a position of the log');
  });

  test('notifications: one row for each entry of the account log', async () => {
    const { accountStore, listNotifications, book } = await tradedBook();
    const file = join(await scratch(), `notifications.${format}`);
    const { rows } = await write(exportNotifications(accountStore), file, 'notifications');
    expect(rows).toBe(await accountStore.notifications.last());
    const visible = await listNotifications();
    const read = await queryDuckDb(
      `SELECT id, any_value(type) AS type, any_value(message) AS message, any_value(chain_id)::INTEGER AS chain,
        any_value(time::TIMESTAMP)::VARCHAR AS at, any_value(order_uid) AS uid FROM ${from(file)}
        GROUP BY id HAVING sum(CASE event WHEN 'notification' THEN 1 ELSE -1 END) = 1`,
    );
    const expected = visible.map(({ id, type, message, timestamp, metadata }) => ({
      id,
      type,
      message,
      chain: book.chainId,
      at: timestamp.replace('T', ' ').replace(/(\.000)?Z$/, ''),
      uid: metadata['orderUid'],
    }));
    const byId = (a: { id?: unknown }, b: { id?: unknown }) => String(a.id).localeCompare(String(b.id));
    expect(read.sort(byId)).toEqual(expected.sort(byId));
    expect([visible.length, rows]).toEqual([7, 17]);
  });

  test('the file appears when it is complete, and a failed export leaves none', async () => {
    const { store } = await tradedBook();
    const file = join(await scratch(), `orders.${format}`);
    writeFileSync(`${file}.partial`, 'of an export that was killed');
    const table = await exportOrders(store, undefined);
    const seen: boolean[] = [];
    async function* observed(fails: boolean) {
      for await (const batch of table.batches) {
        yield batch;
        seen.push(existsSync(file));
        if (fails) throw new Error('offline');
      }
    }
    await expect(exportTable('orders', { ...table, batches: observed(true) }, file, PROGRESS)).rejects.toThrow(
      'offline',
    );
    expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([false, false]);
    await write(exportOrders(store, undefined), file);
    expect([seen, existsSync(file), existsSync(`${file}.partial`)]).toEqual([[false], true, false]);
    expect(await queryDuckDb(`SELECT count(*)::INTEGER AS n FROM ${from(file)}`)).toEqual([{ n: 8 }]);
  });

  test('of two exports to one file, the first one fails and the file has the rows of the other', async () => {
    const { store } = await tradedBook();
    const file = join(await scratch(), `orders.${format}`);
    const table = await exportOrders(store, undefined);
    let other: Promise<unknown> | undefined;
    async function* batches() {
      for await (const batch of table.batches) {
        for (const row of batch) {
          yield [row];
          other ??= write(exportOrders(store, undefined), file);
          await other;
        }
      }
    }
    await expect(exportTable('orders', { ...table, batches: batches() }, file, PROGRESS)).rejects.toThrow(
      `another export writes the file "${file}"`,
    );
    expect(existsSync(`${file}.partial`)).toBe(false);
    expect(await queryDuckDb(`SELECT count(*)::INTEGER AS n FROM ${from(file)}`)).toEqual([{ n: 8 }]);
  });
});

describe('intentbook export', () => {
  /** Creates a file with three orders, of which one is traded. */
  async function fileBook() {
    const folder = await scratch();
    const db = join(folder, 'book.sqlite');
    const store: Store = sqliteStore({ path: db });
    const book = createOrderBook({ chainId: SEPOLIA, store });
    await book.start();
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    for (let i = 0; i < 3; i++) await book.orders.submit(await signOrder(account(i), { validTo }));
    const [order] = (await book.orders.list()).orders;
    assert.ok(order);
    const block = blockOf(1);
    await book.chain.apply({ events: eventsIn(block, [tradeOf(order, 10n, 5n)]), through: block });
    await book.close();
    return { db, folder };
  }

  test('writes tables and the changes since the printed cursor', async () => {
    const { db, folder } = await fileBook();
    const trades = join(folder, 'trades.parquet');
    const { code, stdout } = await intentbook(['export', trades, '--table', 'trades', '--db', db, '--json']).ended;
    expect([code, JSON.parse(stdout)]).toEqual([0, { ok: true, file: trades, table: 'trades', rows: 1, cursor: 4 }]);
    expect(await sumInDuckDb(trades, 'sell_amount')).toBe(10n);
    const metadata = await queryDuckDb(
      `SELECT key::VARCHAR AS key, value::VARCHAR AS value FROM parquet_kv_metadata('${trades}') ORDER BY key`,
    );
    expect(metadata).toEqual([
      { key: 'intentbook.cursor', value: '4' },
      { key: 'intentbook.table', value: 'trades' },
    ]);
    const changes = join(folder, 'changes.csv');
    const later = await intentbook(['export', changes, '--after', '3', '--db', db]).ended;
    expect(later.stdout).toContain(`1 row of orders is in ${changes}; export later changes with --after 4`);
    expect(readFileSync(changes, 'utf8').split('\r\n').length).toBe(3);
  });

  test.each([
    [['orders.ndjson', '--table', 'trades'], 2, '--table requires a file that ends with .csv or .parquet'],
    [['orders.csv', '--table', 'quotes'], 2, '--table must be one of orders, trades, notifications, got "quotes"'],
    [['orders.csv', '--after', '99'], 1, 'after must be a position of the log, at most 4, got 99'],
    [['notes.csv', '--table', 'notifications', '--accounts', 'missing.sqlite'], 1, 'missing.sqlite" does not exist'],
  ])('rejects %j', async (args, expected, message) => {
    const { db, folder } = await fileBook();
    const [file = '', ...flags] = args;
    const { code, stderr } = await intentbook(['export', join(folder, file), ...flags, '--db', db]).ended;
    expect([code, stderr]).toEqual([expected, expect.stringContaining(message)]);
  });

  test('does not replace a file', async () => {
    const { db, folder } = await fileBook();
    const file = join(folder, 'orders.csv');
    writeFileSync(file, 'precious');
    const { code, stderr } = await intentbook(['export', file, '--db', db]).ended;
    expect([code, stderr, readFileSync(file, 'utf8')]).toEqual([
      1,
      expect.stringContaining('already exists'),
      'precious',
    ]);
  });
});
