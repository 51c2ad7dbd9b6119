import { createHash } from 'node:crypto';
import type { Address, Hex, NewOrder, OrderInsert, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { migratePostgres, postgresMigrations, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { apply, at, trade } from '../../conformance/chain.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { NOW, order, PLACED_AT, range, USDC, WETH } from '../../conformance/orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';
import type { RecordingPool, StatementCost } from '../../support/postgres-explain.ts';
import { createRecordingPool } from '../../support/postgres-explain.ts';
import { startPostgres } from '../../support/postgres-server.ts';

const STORED = 30_000;
const OWNERS = 3000;
const GROUP = 64;

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
const getOwner = (n: number): Address => `0x${hash(`owner ${n}`).slice(0, 40)}`;

/** Returns an order with random owner and UID, like the orders that the tables contain. */
function randomOrder(n: number): NewOrder {
  const owner = getOwner((n * 7919) % OWNERS);
  const validTo = NOW + 3600 + n;
  const uid: Hex = `0x${hash(`order ${n}`)}${owner.slice(2)}${validTo.toString(16)}`;
  const body = JSON.stringify({ kind: 'sell', sellAmount: '1000', buyAmount: '5', filler: 'x'.repeat(600) });
  return order(n, { uid, owner, validTo, creationDate: PLACED_AT + n, body });
}

interface Book extends AsyncDisposable {
  readonly schema: string;
  readonly store: Store;
  readonly pool: RecordingPool;
}

/** Opens a store in a schema with the first orders. */
async function openFilled(partitions: number): Promise<Book> {
  const here = await temporarySchema();
  const { url, schema } = here;
  await migratePostgres({ url, schema, partitions });
  await fill(here);
  const connections = new pg.Pool({ connectionString: url, max: 2 });
  const pool = createRecordingPool(connections);
  const store = postgresStore(pool, { schema, listen: false });
  await store.open({ domain: DOMAIN, clock: systemClock });
  return {
    schema,
    store,
    pool,
    async [Symbol.asyncDispose]() {
      await store.close();
      await connections.end();
      await here[Symbol.asyncDispose]();
    },
  };
}

async function fill({ schema, query }: TemporarySchema): Promise<void> {
  const s = `"${schema}"`;
  const sha = (text: string) => `sha256(convert_to(${text}, 'UTF8'))`;
  const owner = `substr(${sha(`'owner ' || (n * 7919 % ${OWNERS})`)}, 1, 20)`;
  const body = randomOrder(0).body;
  await query(`
    INSERT INTO ${s}.orders (created, valid_to, signing_scheme, phase, quota_class, key, owner, sell_token, buy_token,
      app_data, body)
    SELECT ${PLACED_AT} + n, ${NOW} + 3600 + n, 0, 0, 0,
      decode(to_hex(${NOW} + 3600 + n), 'hex') || ${sha("'order ' || n")} || ${owner}, ${owner}, '\\x${WETH.slice(2)}',
      '\\x${USDC.slice(2)}', decode(repeat('00', 32), 'hex'), '${body}'
    FROM generate_series(0, ${STORED - 1}) n`);
  await query(`INSERT INTO ${s}.owners SELECT owner, count(*), 0 FROM ${s}.orders GROUP BY owner`);
  for (const table of ['orders', 'owners']) await query(`VACUUM ANALYZE ${s}.${table}`);
}

const createGroup = (n: number): readonly OrderInsert[] =>
  range(GROUP).map((i) => ({ order: randomOrder(STORED + n * GROUP + i), quota: 1000 }));

/** Groups after which every page was written once since the last checkpoint, and groups that are measured. */
const WARM_UP = 60;
const MEASURED = 10;

/** Inserts orders in a transaction of the host that is rolled back, so that they can be inserted again. */
async function insertAndRollBack({ store, pool }: Book, inserts: readonly OrderInsert[]): Promise<void> {
  const client = await pool.connect();
  await client.query({ text: 'BEGIN' });
  const outcomes = await store.orders.insert(inserts, { transaction: client });
  await client.query({ text: 'ROLLBACK' });
  client.release();
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['inserted']));
}

async function measureInserts(book: Book): Promise<StatementCost> {
  const { store, pool } = book;
  for (const n of range(WARM_UP)) await store.orders.insert(createGroup(n));
  const sum = { blocks: 0, wal: 0 };
  for (const n of range(MEASURED)) {
    const cost = await pool.measureCost(() => insertAndRollBack(book, createGroup(WARM_UP + n)));
    sum.blocks += cost.blocks;
    sum.wal += cost.wal;
  }
  return sum;
}

const fillAll = (store: Store, block: number) =>
  apply(store, block, ...range(GROUP).map((i) => trade(randomOrder(i * 97), block, at(block, i))));

/** The operations of one owner or of listed UIDs. */
async function measureAll(book: Book): Promise<ReadonlyMap<string, StatementCost>> {
  const { store, pool } = book;
  const uids = (count: number) => range(count).map((n) => randomOrder((n * 211 + 5) % STORED).uid);
  const costs = new Map<string, StatementCost>([['submit', await measureInserts(book)]]);
  const operations: Readonly<Record<string, () => Promise<unknown>>> = {
    get: () => store.orders.get(uids(1)),
    'by_uids of 128': () => store.orders.get(uids(128)),
    'second fill': () => fillAll(store, 2),
    'orders of an owner': () => store.orders.list({ owner: getOwner(5), limit: 10 }),
    'open orders of an owner': () =>
      store.orders.list({ owner: getOwner(5), status: { is: 'open', now: NOW }, limit: 10 }),
  };
  const undo = [`DELETE FROM "${book.schema}".fills`, `DELETE FROM "${book.schema}".chain_events`];
  costs.set('first fill', await pool.measureCost(() => fillAll(store, 1), undo));
  for (const [name, operation] of Object.entries(operations)) costs.set(name, await pool.measureCost(operation));
  return costs;
}

/** Whether the log of a long interval is tested. */
const isLong = process.env['INTENTBOOK_TEST_LONG'] !== undefined;
const PARTITIONS = 16;

describe('PostgreSQL store with 16 partitions', () => {
  let costs: readonly (readonly [operation: string, one: StatementCost, many: StatementCost])[] = [];
  beforeAll(async () => {
    await using one = await openFilled(1);
    await using many = await openFilled(PARTITIONS);
    const [single, partitioned] = [await measureAll(one), await measureAll(many)];
    costs = [...single].map(([name, cost]) => [name, cost, partitioned.get(name) ?? cost] as const);
  });

  test('reads at most 1.1 times the blocks of one table for one owner or for listed UIDs', () => {
    expect(costs).toHaveLength(7);
    expect(costs.filter(([, one, many]) => many.blocks > 1.1 * one.blocks)).toEqual([]);
  });

  test('writes at most 1.1 times the log of one table', () => {
    expect(costs.filter(([, one]) => one.wal > 0).map(([name]) => name)).toEqual([
      'submit',
      'first fill',
      'second fill',
    ]);
    expect(costs.filter(([, one, many]) => many.wal > 1.1 * one.wal)).toEqual([]);
  });
});

test.runIf(isLong)(
  'PostgreSQL log of 38,400 orders from a checkpoint on is at most 1.1 times that of one table',
  async () => {
    const [one, many] = [await measureLog(1), await measureLog(PARTITIONS)];
    expect(many, `bytes per order, ${one} in one table`).toBeLessThanOrEqual(1.1 * one);
  },
);

/** Returns the bytes of the log per order, with the pages that are written in full after a checkpoint. */
async function measureLog(partitions: number): Promise<number> {
  const server = await startPostgres({ shared_buffers: '1GB', max_wal_size: '8GB' });
  const client = new pg.Client({ connectionString: server.url });
  try {
    await using here = await temporarySchema(server.url);
    const { schema, query } = here;
    await migratePostgres({ url: server.url, schema, partitions });
    await fill(here);
    const store = postgresStore({ url: server.url, schema, listen: false });
    await store.open({ domain: DOMAIN, clock: systemClock });
    await client.connect();
    await query('CHECKPOINT');
    const position = async () => {
      const { rows } = await client.query("SELECT pg_current_wal_insert_lsn() - pg_lsn '0/0' AS bytes");
      return Number(rows[0].bytes);
    };
    const before = await position();
    for (const n of range(600)) await store.orders.insert(createGroup(n));
    const bytes = (await position()) - before;
    await store.close();
    return Math.round(bytes / (600 * GROUP));
  } finally {
    await client.end();
    await server.dispose();
  }
}

describe('PostgreSQL number of partitions', () => {
  let here: TemporarySchema;
  beforeEach(async () => {
    here = await temporarySchema();
  });
  afterEach(async () => await here[Symbol.asyncDispose]());

  const open = async (partitions?: number, migrate = false) => {
    const { url, schema } = here;
    const options = { url, schema, migrate, listen: false };
    const store = postgresStore(partitions === undefined ? options : { ...options, partitions });
    await store.open({ domain: DOMAIN, clock: systemClock });
    await store.close();
  };

  test('is that of the migration, and a store without the option accepts it', async () => {
    await open(4, true);
    await open(4);
    await open();
    const parts = await here.query(
      `SELECT inhparent::regclass::text AS parent, count(*)::int AS n FROM pg_inherits
        WHERE inhparent = ANY($1::regclass[]) GROUP BY 1`,
      [['orders', 'fills', 'tombstones', 'owners'].map((table) => `"${here.schema}".${table}`)],
    );
    expect(parts.map(({ n }) => n)).toEqual([4, 4, 4, 4]);
  });

  test('cannot change', async () => {
    await open(4, true);
    const failure = {
      code: 'Unsupported',
      message: `partitions must be 4, got 8: the schema "${here.schema}" has 4 partitions, and the number of a schema cannot change`,
    };
    await expect(open(8)).rejects.toMatchObject(failure);
    await expect(open(8, true)).rejects.toMatchObject(failure);
    await expect(migratePostgres({ url: here.url, schema: here.schema, partitions: 8 })).rejects.toMatchObject(failure);
  });

  test('is 1 by default', async () => {
    await open(undefined, true);
    await expect(open(16)).rejects.toMatchObject({
      code: 'Unsupported',
      message: expect.stringContaining('partitions must be 1, got 16: the schema'),
    });
    await open(1);
  });

  test('is part of the SQL for other migration tools', async () => {
    for (const { sql } of postgresMigrations({ schema: here.schema, partitions: 2 })) await here.query(sql);
    await open(2);
  });

  test.each([0, 257, 1.5, Number.NaN])('must be an integer from 1 to 256, got %s', (partitions) => {
    const message = `\`partitions\` must be an integer from 1 to 256, got ${partitions}`;
    expect(() => postgresStore({ url: 'postgres://unused', partitions })).toThrow(message);
    expect(() => postgresMigrations({ partitions })).toThrow(message);
  });

  test('is rejected for the schema of accounts', () => {
    expect(() => postgresMigrations({ of: 'accounts', partitions: 2 })).toThrow(
      '`partitions` must be absent for the schema of accounts',
    );
  });
});
