import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StoreError, systemClock } from 'intentbook';
import { migratePostgres, postgresAccountStore, postgresMigrations, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../../adapters/postgres/migrate.ts';
import type { PgMigration } from '../../../adapters/postgres/schema.ts';
import { BOOK_SCHEMA, createFunctions } from '../../../adapters/postgres/schema.ts';
import { apply, PLACED, placement } from '../../conformance/chain.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { order, place, range } from '../../conformance/orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';

let here: TemporarySchema;
beforeEach(async () => {
  here = await temporarySchema();
});
afterEach(async () => await here[Symbol.asyncDispose]());

const context = { domain: DOMAIN, clock: systemClock };
const storeOn = (url = here.url) => postgresStore({ url, schema: here.schema, listen: false });
const migrated = () => migratePostgres({ url: here.url, schema: here.schema });

async function rejection(opening: Promise<unknown>): Promise<StoreError> {
  const error = await opening.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof StoreError)) throw new Error('expected a StoreError');
  return error;
}

/** Migrates with the steps of another release. */
async function release(...steps: PgMigration[]): Promise<number[]> {
  const pool = new pg.Pool({ connectionString: here.url });
  try {
    // The functions refer to the tables of the first step.
    const functions = steps[0] === MIGRATIONS[0] ? BOOK_SCHEMA.functions : () => [];
    return await migrate(pool, here.schema, { ...BOOK_SCHEMA, migrations: steps, functions });
  } finally {
    await pool.end();
  }
}

/** Delays the migrations of other processes, as a long migration does. */
async function holdMigrations() {
  const client = new pg.Client({ connectionString: here.url });
  await client.connect();
  const lock = `hashtextextended('intentbook migrations of ${here.schema}', 0)`;
  await client.query(`SELECT pg_advisory_lock(${lock})`);
  return {
    release: () => client.query(`SELECT pg_advisory_unlock(${lock})`),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

const MIGRATIONS = BOOK_SCHEMA.migrations;
const newest = MIGRATIONS.length;
const next = (changes: Partial<PgMigration> = {}): PgMigration => ({
  version: newest + 1,
  name: 'note',
  breaking: false,
  locks: 'none',
  sql: (s) => `ALTER TABLE ${s}.orders ADD COLUMN note text`,
  ...changes,
});

/** Reads all tables, columns, indexes and functions. */
async function shape(): Promise<unknown> {
  const functions = await here.query(
    'SELECT proname, prosrc, proconfig FROM pg_proc WHERE pronamespace = $1::regnamespace ORDER BY 1, 2',
    [`"${here.schema}"`],
  );
  const columns = await here.query(
    `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
      WHERE table_schema = $1 ORDER BY 1, 2`,
    [here.schema],
  );
  const indexes = await here.query('SELECT indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY 1', [here.schema]);
  return JSON.parse(JSON.stringify({ columns, indexes, functions }).replaceAll(here.schema, 'schema'));
}

describe('PostgreSQL migration', () => {
  test('creates the schema once under concurrent processes', async () => {
    const applied = await Promise.all(range(8).map(migrated));
    expect(applied.flat().sort()).toEqual(MIGRATIONS.map(({ version }) => version));
    expect(await migrated()).toEqual([]);
    const store = storeOn();
    await store.open(context);
    await store.close();
  });

  test('matches the exported SQL', async () => {
    await migrated();
    const wanted = await shape();
    await here.query(`DROP SCHEMA "${here.schema}" CASCADE`);
    for (const { sql } of postgresMigrations({ schema: here.schema })) await here.query(`BEGIN; ${sql} COMMIT`);
    expect(await shape()).toEqual(wanted);
    expect(await migrated()).toEqual([]);
    const steps = postgresMigrations().map(({ version, name, repeatable }) => [version, name, repeatable]);
    expect(steps).toEqual([
      ...MIGRATIONS.map(({ version, name }) => [version, name, false]),
      [newest, 'functions', true],
    ]);
    expect(postgresMigrations()[0]?.sql).toContain('CREATE SCHEMA IF NOT EXISTS "intentbook"');
  });

  test('leaves nothing of a failing step and keeps the previous ones', async () => {
    await migrated();
    const broken = next({ sql: (s) => `CREATE TABLE ${s}.half (id integer); CREATE TABLE ${s}.half (id integer)` });
    const error = await release(...MIGRATIONS, broken).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StoreError);
    expect(await here.query('SELECT to_regclass($1) AS half', [`"${here.schema}".half`])).toEqual([{ half: null }]);
    const store = storeOn();
    await store.open(context);
    await store.close();
  });

  test('does not wait long for a lock behind a long transaction', async () => {
    await migrated();
    const client = new pg.Client({ connectionString: here.url });
    await client.connect();
    await client.query(`BEGIN; LOCK TABLE "${here.schema}".orders IN ACCESS SHARE MODE`);
    await expect(release(...MIGRATIONS, next())).rejects.toThrow('held its lock for too long (55P03)');
    await client.query('COMMIT');
    await client.end();
    expect(await release(...MIGRATIONS, next())).toEqual([newest + 1]);
  });

  test('waits on open for the migration of another process, however long it takes', async () => {
    await using other = await holdMigrations();
    const store = postgresStore({ url: here.url, schema: here.schema, listen: false, migrate: true });
    const opening = store.open(context);
    // Longer than the server and the client limit a statement of a request.
    await Promise.race([opening, new Promise((resolve) => setTimeout(resolve, 7000))]);
    await other.release();
    await opening;
    expect(await migrated()).toEqual([]);
    await store.close();
  });

  test('runs on open only if the host enables it', async () => {
    const error = await rejection(storeOn().open(context));
    expect(error.code).toBe('SchemaTooOld');
    expect(error.message).toBe(
      `the schema "${here.schema}" has version 0, this release needs version ${newest}; ` +
        `run "intentbook migrate --postgres URL --schema ${here.schema}", or open it with \`migrate\` (--migrate)`,
    );
    expect(await here.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [here.schema])).toEqual([]);
    const stores = range(4).map(() => postgresStore({ url: here.url, schema: here.schema, migrate: true }));
    await Promise.all(stores.map((store) => store.open(context)));
    await Promise.all(stores.map((store) => store.close()));
  });
});

/** Creates the schema of the first release, as it was. */
async function createFirst(of: 'book' | 'accounts'): Promise<void> {
  const file = fileURLToPath(new URL(`schemas/${of}-1.sql`, import.meta.url));
  await here.query(`BEGIN; ${readFileSync(file, 'utf8').replaceAll('"released"', `"${here.schema}"`)} COMMIT`);
}

describe('PostgreSQL schema of the first release', () => {
  test('is rejected before the migration, which replaces its functions', async () => {
    await createFirst('book');
    const error = await rejection(storeOn().open(context));
    expect([error.code, error.message]).toEqual([
      'SchemaTooOld',
      newest > 1
        ? expect.stringContaining('has version 1, this release needs version')
        : expect.stringMatching(
            /has other functions \(.*number_events.*\) than this release; run "intentbook migrate /,
          ),
    ]);
    expect(await migrated()).toEqual(range(newest - 1).map((n) => n + 2));
    const store = storeOn();
    await store.open(context);
    await place(store, order(1));
    await store.close();
    expect(await migrated()).toEqual([]);
  });

  test.each(['book', 'accounts'] as const)('of %s becomes equal to a new one', async (of) => {
    const migrateTo = () => migratePostgres({ url: here.url, schema: here.schema, of });
    await createFirst(of);
    await migrateTo();
    const upgraded = await shape();
    await here.query(`DROP SCHEMA "${here.schema}" CASCADE`);
    await migrateTo();
    expect(upgraded).toEqual(await shape());
  });

  test('is migrated by several processes at once', async () => {
    await createFirst('book');
    await Promise.all(range(6).map(migrated));
    const store = storeOn();
    await store.open(context);
    await store.close();
  });
});

describe('PostgreSQL schema that was altered', () => {
  const REBUILD = 'restore a backup, or export the book and import it into a new schema';

  test.each([
    ['an index', 'DROP INDEX s.orders_sell', `the schema s lacks the index orders_sell, which its version includes`],
    [
      'a table',
      'DROP TABLE s.first_trades',
      'the schema s lacks the table first_trades, the index first_trades_block,',
    ],
    [
      'a migration',
      "UPDATE s.migrations SET checksum = 'other' WHERE version = 1",
      'the schema s was created by an unreleased version: its migration 1 differs',
    ],
  ])('by %s is rejected with its name, also by a migration', async (_, change, message) => {
    await migrated();
    await here.query(change.replaceAll('s.', `"${here.schema}".`));
    const error = await rejection(storeOn().open(context));
    expect(error.code).toBe('Unsupported');
    expect(error.message).toContain(message.replace('schema s ', `schema "${here.schema}" `));
    expect(error.message).toContain(REBUILD);
    expect(await rejection(migrated())).toEqual(error);
  });

  test.each([
    [
      'text',
      'CREATE OR REPLACE FUNCTION s.cancel_stored(p_keys bytea[], p_at bigint) RETURNS void LANGUAGE sql AS $$$$',
    ],
    ['settings', 'ALTER FUNCTION s.cancel_orders(bytea[], bigint, bigint) SET jit = on'],
    ['name', 'ALTER FUNCTION s.lock_owners(bytea[], boolean) RENAME TO lock_all'],
  ])('by the %s of a function is rejected, and repaired by a migration', async (_, change) => {
    await migrated();
    await here.query(change.replaceAll('s.', `"${here.schema}".`));
    expect(await rejection(storeOn().open(context))).toMatchObject({
      code: 'SchemaTooOld',
      message: expect.stringMatching(/has other functions \(\w+\) than this release/),
    });
    expect(await migrated()).toEqual([]);
    const store = storeOn();
    await store.open(context);
    await store.close();
  });

  test('keeps the functions of a newer release, which this one uses', async () => {
    await migrated();
    const other = createFunctions(`"${here.schema}"`).map((each) => ({ ...each, body: `${each.body}-- newer\n` }));
    const pool = new pg.Pool({ connectionString: here.url });
    await migrate(pool, here.schema, { ...BOOK_SCHEMA, migrations: [...MIGRATIONS, next()], functions: () => other });
    await pool.end();
    expect(await migrated()).toEqual([]);
    const store = storeOn();
    await store.open(context);
    await place(store, order(1));
    await store.close();
    const bodies = await here.query('SELECT prosrc FROM pg_proc WHERE pronamespace = $1::regnamespace', [
      `"${here.schema}"`,
    ]);
    expect(bodies.every(({ prosrc }) => String(prosrc).endsWith('-- newer\n'))).toBe(true);
  });
});

describe('PostgreSQL migration with concurrent statements', () => {
  const step = next({
    name: 'index',
    sql: () => '',
    concurrently: (s) => [
      `DROP INDEX CONCURRENTLY IF EXISTS ${s}.orders_checksum`,
      `CREATE INDEX CONCURRENTLY orders_checksum ON ${s}.orders (checksum)`,
    ],
  });
  const findIndex = () =>
    here.query('SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)', [
      `"${here.schema}".orders_checksum`,
    ]);

  test('creates an index once among several processes', async () => {
    await migrated();
    const applied = await Promise.all(range(4).map(() => release(...MIGRATIONS, step)));
    expect(applied.flat()).toEqual([newest + 1]);
    expect(await findIndex()).toEqual([{ valid: true }]);
  });

  test('is not repeated by a process that waited for another', async () => {
    await migrated();
    await here.query(`CREATE TABLE "${here.schema}".runs (at timestamptz)`);
    const counted = {
      ...step,
      concurrently: (s: string) => [
        ...(step.concurrently?.(s) ?? []),
        `INSERT INTO ${s}.runs VALUES (now())`,
        'SELECT pg_sleep(0.5)',
      ],
    };
    const applied = await Promise.all(range(4).map(() => release(...MIGRATIONS, counted)));
    expect(applied.flat()).toEqual([newest + 1]);
    expect(await here.query(`SELECT count(*)::int AS count FROM "${here.schema}".runs`)).toEqual([{ count: 1 }]);
  });

  test('is applied again if a process ended between its statements', async () => {
    await migrated();
    const broken = { ...step, concurrently: (s: string) => [...(step.concurrently?.(s) ?? []), 'SELECT 1 / 0'] };
    await expect(release(...MIGRATIONS, broken)).rejects.toThrow('a value does not fit the schema (22012)');
    expect(await here.query(`SELECT max(version) AS version FROM "${here.schema}".migrations`)).toEqual([
      { version: newest },
    ]);
    expect(await release(...MIGRATIONS, step)).toEqual([newest + 1]);
    expect(await findIndex()).toEqual([{ valid: true }]);
  });
});

describe('PostgreSQL schema of another release', () => {
  test('is accepted if newer, unless a step forbids it', async () => {
    await release(...MIGRATIONS, next());
    const store = storeOn();
    await store.open(context);
    await place(store, order(1));
    await store.close();
    await release(...MIGRATIONS, next(), { ...next({ breaking: true }), version: newest + 2, sql: () => 'SELECT 1' });
    const error = await rejection(storeOn().open(context));
    expect(error.code).toBe('SchemaTooNew');
    expect(error.message).toBe(
      `the schema "${here.schema}" has version ${newest + 2}; this release supports up to version ${newest}, ` +
        `and version ${newest + 2} is not compatible with it; use a newer release`,
    );
  });

  test('is rejected if older', async () => {
    await release({ ...next(), version: 1, name: 'book', sql: (s) => `CREATE TABLE ${s}.orders ()` }, next());
    await here.query(`DELETE FROM "${here.schema}".migrations WHERE version = 1`);
    expect((await rejection(storeOn().open(context))).code).toBe('SchemaTooOld');
  });
});

test('PostgreSQL account store has its own schema and rejects another one', async () => {
  const { url, schema } = here;
  const accounts = postgresAccountStore({ url, schema });
  const clock = systemClock;
  const tooOld = await rejection(accounts.open({ clock }));
  expect(tooOld.code).toBe('SchemaTooOld');
  expect(tooOld.message).toContain('intentbook migrate --accounts URL');
  await migrated();
  for (const store of [accounts, postgresAccountStore({ url, schema, migrate: true })]) {
    expect(await rejection(store.open({ clock }))).toMatchObject({
      code: 'Unsupported',
      message: expect.stringContaining('belongs to another store'),
    });
  }
  await here.query(`DROP SCHEMA "${schema}" CASCADE`);
  expect(await migratePostgres({ url, schema, of: 'accounts' })).toEqual([1, 2]);
  expect(postgresMigrations({ schema, of: 'accounts' })).toHaveLength(2);
  await accounts.open({ clock });
  await accounts.close();
  expect((await rejection(storeOn(url).open(context))).code).toBe('Unsupported');
});

describe('PostgreSQL role', () => {
  /** A user with the granted rights only. */
  async function role(grants: (name: string) => string): Promise<{ url: string; drop: () => Promise<void> }> {
    const name = `${here.schema}_role`;
    await here.query(`CREATE ROLE ${name} LOGIN PASSWORD 'pw'; ${grants(name)}`);
    const url = new URL(here.url);
    url.username = name;
    url.password = 'pw';
    return {
      url: url.href,
      drop: async () => void (await here.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`)),
    };
  }

  test('without schema rights runs a book and cannot migrate', async () => {
    await migrated();
    const s = `"${here.schema}"`;
    const { url, drop } = await role(
      (name) =>
        `GRANT USAGE ON SCHEMA ${s} TO ${name}; ` +
        `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${s} TO ${name}`,
    );
    const store = storeOn(url);
    await store.open(context);
    await store.check();
    await place(store, order(1));
    await store.orders.insert([{ order: order(2), replaces: order(1).uid, quota: 1 }]);
    expect((await store.events.after(0, 9)).map(({ type }) => type)).toEqual(['created', 'cancelled', 'created']);
    expect((await store.leases.acquire({ name: 'sweep', holder: 'a', ttl: 1 })).status).toBe('held');
    await apply(store, 10, placement(10));
    expect(await store.orders.expire(PLACED.validTo + 1, 9)).toBe(1);
    await store.quotes.prune(0, 1);
    await store.close();
    await here.query(`DELETE FROM ${s}.migrations`);
    expect((await rejection(storeOn(url).open(context))).code).toBe('SchemaTooOld');
    await expect(migratePostgres({ url, schema: here.schema })).rejects.toThrow('lacks a required privilege (42501)');
    await drop();
  });

  test('with rights to create tables in a schema migrates it without the right to create schemas', async () => {
    const s = `"${here.schema}"`;
    await here.query(`CREATE SCHEMA ${s}`);
    const { url, drop } = await role((name) => `GRANT USAGE, CREATE ON SCHEMA ${s} TO ${name}`);
    expect(await migratePostgres({ url, schema: here.schema })).toHaveLength(newest);
    await drop();
  });

  test('with asynchronous commits is rejected by name unless accepted', async () => {
    await migrated();
    const { url, drop } = await role(
      (name) =>
        `ALTER ROLE ${name} SET synchronous_commit = off; GRANT ALL ON SCHEMA "${here.schema}" TO ${name}; ` +
        `GRANT ALL ON ALL TABLES IN SCHEMA "${here.schema}" TO ${name}`,
    );
    const error = await rejection(storeOn(url).open(context));
    expect([error.code, error.message]).toEqual([
      'Unsupported',
      'the server has synchronous_commit = off, so it may lose acknowledged writes; enable it, or accept this with durable: false',
    ]);
    const store = postgresStore({ url, schema: here.schema, durable: false });
    expect(store.traits.durable).toBe(false);
    await store.open(context);
    await store.close();
    await drop();
  });
});

describe('PostgreSQL store options', () => {
  test.each([
    [{ schema: 'a"b' }, /`schema` must be letters/],
    [{ schema: 'pg_x' }, /`schema` must be letters/],
    [{ schema: 'a'.repeat(41) }, /`schema` must be letters/],
    [{ schema: '' }, /`schema` must be letters/],
    [{ url: '' }, /`url` must be a connection string/],
    [{ readUrl: '' }, /`readUrl` must be a connection string/],
    [{ connections: 1 }, /`connections` must be an integer from 2 /],
    [{ pollInterval: 0 }, /`pollInterval` must be an integer from 10 /],
    [{ scheme: 'a' }, /unknown option "scheme", did you mean "schema"\?/],
  ])('%o is rejected at once', (options, message) => {
    expect(() => postgresStore({ url: 'postgres://x', ...options })).toThrow(message);
  });

  test('two books share a database in separate schemas', async () => {
    await using there = await temporarySchema();
    const stores = [here, there].map(({ url, schema }) => postgresStore({ url, schema, migrate: true }));
    for (const [n, store] of stores.entries()) {
      await store.open({ ...context, domain: { ...DOMAIN, chainId: n + 1 } });
      await place(store, order(n));
    }
    for (const store of stores) {
      expect(await store.orders.list({ limit: 9 })).toHaveLength(1);
      await store.close();
    }
  });
});
