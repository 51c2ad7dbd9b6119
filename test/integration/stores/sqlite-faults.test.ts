import Database from 'better-sqlite3';
import type { Store } from 'intentbook';
import { StoreError } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, NOW, order, place, range } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import type { TemporaryFile } from './temporary.ts';
import { temporaryFile } from './temporary.ts';

let file: TemporaryFile;
let database: Database.Database;
let store: Store;

beforeEach(async () => {
  file = temporaryFile();
  database = new Database(file.path, { timeout: 0 });
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  store = sqliteStore(database, { prefix: 'b_' });
  await store.open({ domain: DOMAIN, clock: manualClock() });
});

afterEach(async () => {
  await store.close();
  database.close();
  file[Symbol.dispose]();
});

async function failure(call: Promise<unknown>): Promise<StoreError> {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof StoreError)) throw new Error('expected a StoreError');
  expect(error.message).not.toMatch(/INSERT|UPDATE|SELECT|b_/);
  return error;
}

test('SQLite store on a full disk fails the whole batch, stores nothing of it and recovers', async () => {
  await place(store, order(1));
  const pages = database.pragma('page_count', { simple: true });
  database.pragma(`max_page_count = ${pages}`);
  const inserts = range(200).map((n) => ({ order: order(100 + n, { body: JSON.stringify('x'.repeat(2000)) }) }));
  const error = await failure(store.orders.insert(inserts));
  expect([error.code, error.message]).toEqual([
    'Unavailable',
    `the SQLite store cannot insert orders in "${database.name}": the disk is full (SQLITE_FULL)`,
  ]);
  expect(error.cause).toMatchObject({ code: 'SQLITE_FULL' });
  expect(await store.orders.get(inserts.map((each) => each.order.uid))).toEqual([]);
  expect(await store.orders.count(ALICE, NOW)).toEqual({ open: 1, pending: 0 });
  expect(await store.events.last()).toBe(1);

  database.pragma('max_page_count = 1000000');
  expect((await store.orders.insert(inserts)).every(({ status }) => status === 'inserted')).toBe(true);
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
});

test('SQLite store fails writes but no reads while another program locks the file', async () => {
  await place(store, order(1));
  const other = new Database(file.path);
  try {
    other.exec('BEGIN IMMEDIATE');
    expect((await failure(store.orders.insert([{ order: order(2) }]))).cause).toMatchObject({ code: 'SQLITE_BUSY' });
    expect((await failure(store.check())).message).toContain('another process holds its lock');
    expect((await store.orders.get([order(1).uid])).length).toBe(1);
    other.exec('ROLLBACK');
  } finally {
    other.close();
  }
  await store.check();
  await place(store, order(2));
});

test('SQLite store fails the batch of an order that violates the schema, and accepts the next one', async () => {
  await failure(store.orders.insert([{ order: order(1) }, { order: order(2, { sellToken: '0x12' }) }]));
  expect(await store.orders.get([order(1).uid])).toEqual([]);
  await place(store, order(1));
});

test('SQLite store returns a row that was changed by hand without its body among its neighbours', async () => {
  await place(store, order(1), order(2), order(3));
  database
    .prepare(`UPDATE b_orders SET body = '[]', executed_sell_amount = 'much', valid_to = -1 WHERE uid = ?`)
    .run(Buffer.from(order(2).uid.slice(2), 'hex'));
  const read = await store.orders.get([1, 2, 3].map((n) => order(n).uid));
  expect(read.map(({ uid, body, executedSellAmount }) => [uid, body, executedSellAmount]).sort()).toEqual([
    [order(1).uid, order(1).body, '0'],
    [order(2).uid, '', 'much'],
    [order(3).uid, order(3).body, '0'],
  ]);
});

test('SQLite store returns an executed total beyond 2^256 exactly', async () => {
  await place(store, order(1));
  const total = String(2n ** 300n + 1n);
  database.prepare('UPDATE b_orders SET executed_sell_amount = ?, executed_fee_token = ?').run(total, Buffer.alloc(20));
  expect((await store.orders.get([order(1).uid]))[0]).toMatchObject({
    executedSellAmount: total,
    executedFeeToken: `0x${'00'.repeat(20)}`,
  });
});

test('SQLite store keeps counters equal to a count of its orders', async () => {
  await place(store, ...range(20).map((n) => order(n)));
  await store.orders.cancel({ uids: [order(3).uid, order(4).uid], now: NOW, cancelledAt: 0 });
  await store.orders.insert([{ order: order(30), replaces: order(5).uid }]);
  expect(database.prepare('SELECT live_open, live_pending FROM b_owners').raw().all()).toEqual([[18, 0]]);
  expect(database.prepare('SELECT count(*) FROM b_orders WHERE live = 1').pluck().get()).toBe(18);
});

test('SQLite store reports the outcome of a commit whose sync fails as unknown', async () => {
  await place(store, order(1));
  const { exec } = database;
  Object.defineProperty(database, 'exec', {
    configurable: true,
    value(sql: string) {
      if (sql === 'COMMIT') throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
      return exec.call(database, sql);
    },
  });
  expect(await store.orders.insert([{ order: order(2) }])).toEqual([{ status: 'unknown' }]);
  const cancelled = store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: NOW * 1000 });
  const error = await failure(cancelled);
  expect([error.code, error.message]).toEqual([
    'OutcomeUnknown',
    'the SQLite store cannot determine the outcome of an attempt to cancel orders: the disk failed',
  ]);
  expect(error.cause).toMatchObject({ code: 'SQLITE_IOERR_FSYNC' });
  Object.defineProperty(database, 'exec', { configurable: true, value: exec });
  expect(await store.orders.insert([{ order: order(2) }])).toEqual([{ status: 'inserted' }]);
});

// SQLite fails so in a container whose root is read-only, for an index of a large table.
test('SQLite store without a folder for temporary files names the variable that sets one', async () => {
  const { exec } = database;
  Object.defineProperty(database, 'exec', {
    configurable: true,
    value(sql: string) {
      if (sql.startsWith('BEGIN'))
        throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_GETTEMPPATH' });
      return exec.call(database, sql);
    },
  });
  const error = await failure(store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: NOW * 1000 }));
  Object.defineProperty(database, 'exec', { configurable: true, value: exec });
  expect(error.message).toBe(
    `the SQLite store cannot cancel orders in "${database.name}": no folder for temporary files can be written; set SQLITE_TMPDIR (SQLITE_IOERR_GETTEMPPATH)`,
  );
});

test.each(['DELETE', 'TRUNCATE', 'PERSIST'])('SQLite store returns to WAL after the journal mode %s', async (mode) => {
  using other = temporaryFile();
  const open = async () => {
    const opened = sqliteStore({ path: other.path });
    await opened.open({ domain: DOMAIN, clock: manualClock() });
    return opened;
  };
  const first = await open();
  await first.orders.insert([{ order: order(1) }]);
  const tool = new Database(other.path, { timeout: 0 });
  expect(() => tool.pragma(`journal_mode = ${mode}`)).toThrow('database is locked');
  await first.close();
  expect(tool.pragma(`journal_mode = ${mode}`, { simple: true })).toBe(mode.toLowerCase());
  tool.close();
  const second = await open();
  expect(await second.orders.get([order(1).uid])).toHaveLength(1);
  await second.orders.insert([{ order: order(2) }]);
  const reader = new Database(other.path, { readonly: true });
  expect(reader.pragma('journal_mode', { simple: true })).toBe('wal');
  reader.close();
  await second.close();
});
