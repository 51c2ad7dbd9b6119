import { createOrderBook } from 'intentbook';
import { checkPostgres, migratePostgres, postgresAccountStore, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { account, SEPOLIA, SEPOLIA_DOMAIN, signCancellation, signOrder } from '../../support/orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';

let place: TemporarySchema;
beforeAll(async () => {
  place = await temporarySchema();
});
afterAll(() => place[Symbol.asyncDispose]());

/** Creates stores on a pool of the host, whose sessions have other settings than by default. */
function fixture(config: pg.PoolConfig) {
  const pool = new pg.Pool({ connectionString: place.url, max: 4, ...config });
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  const { schema } = place;
  return {
    store: postgresStore(pool, { schema, migrate: true }),
    accountStore: postgresAccountStore(pool, { schema: `${schema}_accounts`, migrate: true }),
  };
}

const clock = { now: () => Date.now(), after: () => () => {} };

describe('PostgreSQL store on a pool of the host', () => {
  test.each([
    ['array_nulls = off', { options: '-c array_nulls=off' }, 'array_nulls = off'],
    ['bytea_output = escape', { options: '-c bytea_output=escape' }, 'bytea_output = escape'],
    [
      'session_replication_role = replica',
      { options: '-c session_replication_role=replica' },
      'session_replication_role = replica',
    ],
    ['binary: true', { binary: true }, 'binary format'],
  ])('refuses %s', async (_name, config, message) => {
    const { store, accountStore } = fixture(config as pg.PoolConfig);
    const book = createOrderBook({ chainId: SEPOLIA, store });
    await expect(book.start()).rejects.toMatchObject({
      code: 'Unsupported',
      message: expect.stringContaining(message),
    });
    await expect(accountStore.open({ clock })).rejects.toMatchObject({ code: 'Unsupported' });
  });

  test.each([
    '-c standard_conforming_strings=off',
    '-c backslash_quote=off',
    '-c transform_null_equals=on',
    '-c quote_all_identifiers=on',
    '-c extra_float_digits=-15',
    '-c TimeZone=Asia/Kathmandu -c DateStyle=SQL,DMY -c IntervalStyle=sql_standard',
    '-c search_path=pg_temp -c default_tablespace=',
    '-c enable_indexscan=off -c enable_bitmapscan=off -c plan_cache_mode=force_generic_plan',
    '-c default_transaction_deferrable=on -c default_transaction_isolation=serializable',
    '-c xmlbinary=hex -c xmloption=document -c gin_fuzzy_search_limit=1 -c from_collapse_limit=1 -c join_collapse_limit=1',
    '-c row_security=off -c session_replication_role=local',
    '-c client_min_messages=error -c lock_timeout=1000 -c check_function_bodies=off',
  ])('works with %s', async (options) => {
    const { store, accountStore } = fixture({ options });
    const book = createOrderBook({ chainId: SEPOLIA, store });
    await book.start();
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const appData = JSON.stringify({ appCode: `a\\b'c ${options}` });
    const order = await signOrder(account(1), { validTo, appData });
    const result = await book.orders.submit(order);
    if (result.status !== 'accepted') throw new Error(JSON.stringify(result));
    expect(await book.orders.get(result.uid)).toMatchObject({ status: 'open', fullAppData: appData });
    expect((await book.orders.list({ owner: account(1).address })).orders.map(({ uid }) => uid)).toContain(result.uid);
    const orderUids = [result.uid];
    const cancelled = await book.orders.cancel({ orderUids, ...(await signCancellation(account(1), { orderUids })) });
    expect(cancelled.status).toBe('cancelled');
    expect((await book.orders.get(result.uid))?.status).toBe('cancelled');
    expect((await book.ready()).ready).toBe(true);
    await book.close();
    await accountStore.open({ clock });
    expect(await accountStore.notifications.last()).toBe(0);
    await accountStore.close();
  });
});

describe('PostgreSQL store of a user from whom row-level security hides rows', () => {
  const role = `limited_${process.pid}`;
  const schemas = { book: '', accounts: '' };
  let url = '';
  beforeAll(async () => {
    await place.query(`CREATE ROLE ${role} LOGIN`);
    url = new URL(place.url.replace(/\/\/[^@]*@/, `//${role}@`)).href;
    for (const of of ['book', 'accounts'] as const) {
      const schema = `${place.schema}_rows_${of}`;
      schemas[of] = schema;
      await migratePostgres({ url: place.url, schema, of });
      await place.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
      for (const kind of ['TABLES', 'SEQUENCES', 'FUNCTIONS']) {
        await place.query(`GRANT ALL ON ALL ${kind} IN SCHEMA ${schema} TO ${role}`);
      }
    }
  });
  afterAll(async () => {
    for (const schema of Object.values(schemas)) await place.query(`DROP SCHEMA ${schema} CASCADE`);
    await place.query(`DROP ROLE ${role}`);
  });

  /** Enables row-level security for a table until the end of the test. */
  async function hide(of: 'book' | 'accounts', table: string): Promise<void> {
    const set = (action: string) => place.query(`ALTER TABLE ${schemas[of]}.${table} ${action} ROW LEVEL SECURITY`);
    await set('ENABLE');
    onTestFinished(async () => void (await set('DISABLE')));
  }
  const open = async (of: 'book' | 'accounts', user = url) => {
    const options = { url: user, schema: schemas[of] };
    const store = of === 'book' ? postgresStore(options) : postgresAccountStore(options);
    onTestFinished(() => store.close());
    await store.open({ clock, domain: SEPOLIA_DOMAIN });
    return store;
  };
  const message = (of: 'book' | 'accounts', table: string) =>
    `row-level security may hide rows of "${schemas[of]}" from this user (tables: ${table}); disable it, or use a user ` +
    'with BYPASSRLS';

  test.each([
    ['book', 'migrations'],
    ['book', 'domain'],
    ['book', 'orders'],
    ['book', 'tombstones'],
    ['book', 'leases'],
    ['accounts', 'migrations'],
    ['accounts', 'notifications'],
    ['accounts', 'subscriptions'],
  ] as const)('is refused: %s, table %s', async (of, table) => {
    await hide(of, table);
    await expect(open(of)).rejects.toMatchObject({ code: 'Unsupported', message: message(of, table) });
    const options = { url, schema: schemas[of], of };
    expect(await checkPostgres(options)).toEqual([message(of, table)]);
    await expect(migratePostgres(options)).rejects.toThrow(message(of, table));
  });

  test.each(['book', 'accounts'] as const)('is not ready after the first rows are hidden: %s', async (of) => {
    const store = await open(of);
    await store.check();
    await hide(of, 'leases');
    await expect(store.check()).rejects.toMatchObject({ code: 'Unsupported', message: message(of, 'leases') });
  });

  test.each(['book', 'accounts'] as const)('does not concern the owner, and other tables: %s', async (of) => {
    await hide(of, 'leases');
    await (await open(of, place.url)).check();
    await place.query(`CREATE TABLE ${schemas[of]}.host (); ALTER TABLE ${schemas[of]}.host ENABLE ROW LEVEL SECURITY`);
    await place.query(`ALTER TABLE ${schemas[of]}.leases DISABLE ROW LEVEL SECURITY`);
    await (await open(of)).check();
  });
});

describe('PostgreSQL store in a transaction of the host', () => {
  async function open(pollInterval = 1000) {
    const pool = new pg.Pool({ connectionString: place.url, max: 4 });
    const book = createOrderBook({
      chainId: SEPOLIA,
      store: postgresStore(pool, { schema: place.schema, migrate: true, pollInterval }),
    });
    await book.start();
    const client = await pool.connect();
    onTestFinished(async () => {
      await client.query('ROLLBACK');
      client.release();
      await book.close();
      await pool.end();
    });
    let amount = 1000;
    const submit = async (owner = 2, transaction: unknown = client) => {
      const validTo = Math.floor(Date.now() / 1000) + 3600;
      const order = await signOrder(account(owner), { validTo, sellAmount: String(++amount) });
      return book.orders.submit(order, { transaction });
    };
    return { book, pool, client, submit };
  }

  test('inserts after the host has discarded prepared statements', async () => {
    const { book, client, submit } = await open();
    for (const discard of ['DISCARD ALL', 'DEALLOCATE ALL', 'SELECT 1']) {
      await client.query('BEGIN');
      const result = await submit();
      await client.query('COMMIT');
      if (result.status !== 'accepted') throw new Error(JSON.stringify(result));
      expect((await book.orders.get(result.uid))?.status).toBe('open');
      await client.query(discard);
    }
  });

  test.each([
    ['that has failed', 'BEGIN', 'SELECT 1 / 0', 'must be rolled back (25P02)'],
    ['for reads only', 'BEGIN READ ONLY', 'SELECT 1', 'or the transaction is read-only (25006)'],
  ])('reports one %s', async (_name, begin, statement, message) => {
    const { client, submit } = await open();
    await client.query(begin);
    await client.query(statement).catch(() => {});
    await expect(submit()).rejects.toThrow(message);
  });

  test('notifies listeners of the commit without another write', async () => {
    const { book, client, submit } = await open(24 * 3600 * 1000);
    const created = new Promise((resolve) => book.on('orderCreated', ({ uid }) => resolve(uid)));
    await client.query('BEGIN');
    const result = await submit(5);
    await client.query('COMMIT');
    if (result.status !== 'accepted') throw result.error;
    expect(await created).toBe(result.uid);
  });

  test('keeps an order although another one that was submitted at the same time fails', async () => {
    const { book, pool, client, submit } = await open();
    const other = await pool.connect();
    try {
      await other.query('BEGIN');
      await submit(3, other); // locks the owner
      await client.query("BEGIN; SET LOCAL lock_timeout = '100ms'");
      const [locked, free] = await Promise.allSettled([submit(3), submit(4)]);
      await client.query('COMMIT');
      expect(locked).toMatchObject({ status: 'rejected', reason: { code: 'Unavailable' } });
      if (free.status === 'rejected') throw free.reason;
      if (free.value.status !== 'accepted') throw free.value.error;
      expect((await book.orders.get(free.value.uid))?.status).toBe('open');
    } finally {
      await other.query('ROLLBACK');
      other.release();
    }
  });
});
