import type { Hex, OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';

let first: TemporarySchema;
const schemas: string[] = [];
const books: OrderBook[] = [];
let pool: pg.Pool;

beforeAll(async () => {
  first = await temporarySchema();
  for (let i = 0; i < 4; i++) {
    const schema = `${first.schema}_${i}`;
    await migratePostgres({ url: first.url, schema });
    schemas.push(schema);
  }
});
afterEach(async () => {
  for (const book of books.splice(0)) await book.close();
  await pool.end();
});
afterAll(async () => {
  for (const schema of schemas) await first.query(`DROP SCHEMA "${schema}" CASCADE`);
  await first[Symbol.asyncDispose]();
});

async function open(max: number, count: number, config: pg.PoolConfig = {}): Promise<void> {
  pool = new pg.Pool({ connectionString: first.url, max, ...config });
  for (const schema of schemas.slice(0, count)) {
    const book = createOrderBook({ chainId: SEPOLIA, store: postgresStore(pool, { schema, pollInterval: 50 }) });
    books.push(book);
    await book.start();
  }
}

async function submit(book: OrderBook | undefined, owner: number): Promise<string> {
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const result = await book?.orders.submit(await signOrder(account(owner), { validTo }));
  if (result?.status !== 'accepted') throw new Error(result?.status);
  return result.uid;
}

describe('books on one pool of the host', () => {
  test('work with a pool of one connection', async () => {
    await open(1, 1);
    const [book] = books;
    const created = new Promise((resolve) => book?.on('orderCreated', ({ uid }) => resolve(uid)));
    const uid = await submit(book, 1);
    expect(await created).toBe(uid);
    expect([(await book?.orders.get(uid))?.status, (await book?.ready())?.ready]).toEqual(['open', true]);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  test('work with a pool whose option max is the text 1', async () => {
    await open(1, 1, JSON.parse('{ "max": "1" }'));
    const [book] = books;
    // Another owner than above: within one second, the order would be the same.
    expect((await book?.orders.get(await submit(book, 3)))?.status).toBe('open');
  });

  test('share one connection that listens', async () => {
    await open(2, 4);
    const others = await Promise.all(
      schemas.map(async (schema) => {
        const other = createOrderBook({ chainId: SEPOLIA, store: postgresStore({ url: first.url, schema }) });
        await other.start();
        return other;
      }),
    );
    for (const [i, book] of books.entries()) {
      const created = new Promise((resolve) => book.on('orderCreated', ({ uid }) => resolve(uid)));
      const uid = await submit(others[i], 2);
      expect(await created).toBe(uid);
      expect((await book.ready()).ready).toBe(true);
    }
    for (const other of others) await other.close();
    const listening = `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE query LIKE 'LISTEN %${first.schema}%'`;
    await expect.poll(() => first.query(listening)).toEqual([{ count: 1 }]); // a closed session ends later
  });

  test('keep the process and the pool when the server ends every connection', async () => {
    await open(4, 1);
    const own = await pool.connect();
    await own.query('BEGIN');
    const name = 'the pool of a host';
    const clients = [own, await pool.connect()];
    for (const client of clients) await client.query(`SET application_name = '${name}'`);
    clients[1]?.release(); // it is idle
    const ended = new Promise((resolve) => own.once('end', resolve));
    await first.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [name]);
    await ended;
    own.release(true);
    await expect.poll(() => pool.query('SELECT 1 AS one').then(({ rows }) => rows, String)).toEqual([{ one: 1 }]);
    expect((await books[0]?.orders.get(await submit(books[0], 4)))?.status).toBe('open');
  });

  test.each([
    ['without a limit of the host', {}, '4000 ms'],
    ['after the limit of the host', { connectionTimeoutMillis: 2000 }, '2000 ms'],
  ])('report a pool without a free connection by its option %s, and close', async (_name, config, limit) => {
    await open(2, 1, config);
    const held = [await pool.connect()];
    try {
      await expect(books[0]?.orders.list()).rejects.toThrow(
        `${limit}, all 2 are in use (option max); one listens, and a transaction needs one: set`,
      );
      await Promise.all(books.splice(0).map((book) => book.close()));
    } finally {
      for (const client of held) client.release();
    }
  });
});

test('own pool without a free connection is reported by its option', async () => {
  await open(2, 1);
  const store = postgresStore({ url: first.url, schema: schemas[0] ?? '', connections: 3, listen: false });
  const book = createOrderBook({ chainId: SEPOLIA, store });
  await book.start();
  books.push(book);
  const other = await pool.connect();
  try {
    await other.query(`BEGIN; LOCK TABLE "${schemas[0]}".documents IN ACCESS EXCLUSIVE MODE`);
    const hashes = Array.from({ length: 9 }, (_, i): Hex => `0x${String(i).repeat(64)}`);
    const reads = await Promise.allSettled(hashes.map((hash) => store.appData.get(hash)));
    const messages = reads.map((read) => (read.status === 'rejected' ? read.reason.message : 'read'));
    expect(messages).toContain(
      'the PostgreSQL store has no connection: the pool had none free for 4000 ms, all 3 are in use (option connections)',
    );
  } finally {
    other.release(true);
  }
});
