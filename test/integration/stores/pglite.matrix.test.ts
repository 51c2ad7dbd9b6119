import { PGlite } from '@electric-sql/pglite';
import { createOrderBook, systemClock } from 'intentbook';
import type { PgPool, PgQuery } from 'intentbook/postgres';
import { pgliteAccountStore, pgliteStore, postgresStore } from 'intentbook/postgres';
import type { StoreHarness } from 'intentbook/testing';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { getPglitePool } from '../../../adapters/postgres/pglite.ts';
import { notification, notify, step } from '../../conformance/accounts/notifications.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, NOW, order } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { emptySchema } from '../../support/postgres.ts';
import { describeAccountConformance, describeConformance } from './conformance.ts';
import { emptyAccountSchema } from './postgres-account-schema.ts';

const database = await PGlite.create();
afterAll(() => database.close());

const place = (schema: string) => ({
  schema,
  pool: { query: async (text: string) => ({ rows: (await database.exec(text)).at(-1)?.rows ?? [] }) },
});

/** PGlite decodes text without the byte order mark at its start. The bytes in the table are complete. */
const MARK = 'PGlite drops a byte order mark at the start of a text';

const createHarness = (schema: string): StoreHarness => ({
  traits: pgliteStore(database).traits,
  exceptions: {
    'returns a document unchanged, and undefined for an unknown hash': MARK,
    'stores a document with its order and returns both unchanged': MARK,
  },
  create: async () => ({
    connect: () => pgliteStore(database, { schema }),
    dispose: () => emptySchema(place(schema)),
  }),
});

describeConformance('PostgreSQL store on PGlite', createHarness('intentbook'));

test('the account log of a dump that was restored continues in a new log epoch', async () => {
  const schema = 'restored_accounts';
  const ids = async (n: number) => {
    const store = pgliteAccountStore(database, { schema });
    await store.open({ clock: systemClock });
    await step(store, notify(notification(n)));
    const entries = await store.notifications.after(0, 9);
    await store.close();
    return entries.map(({ id }) => id);
  };
  expect([await ids(1), await ids(2)]).toEqual([[1], [1, 2]]);
  // A restore creates the tables again.
  await database.exec(`ALTER TABLE ${schema}.log RENAME TO dumped;
    CREATE TABLE ${schema}.log (LIKE ${schema}.dumped INCLUDING ALL);
    INSERT INTO ${schema}.log SELECT * FROM ${schema}.dumped; DROP TABLE ${schema}.dumped`);
  // The copies of the indexes have other names.
  await database.exec(`DO $$
    DECLARE i record;
    BEGIN
      FOR i IN SELECT indexname, indexdef FROM pg_indexes
        WHERE schemaname = '${schema}' AND tablename = 'log' AND indexname NOT LIKE '%pkey%' LOOP
        EXECUTE format('ALTER INDEX ${schema}.%I RENAME TO %I', i.indexname,
          CASE WHEN i.indexdef LIKE '%(account%' THEN 'log_account' ELSE 'log_notification' END);
      END LOOP;
    END $$`);
  const [, , first = 0] = await ids(3);
  expect(first).toBeGreaterThan(3);
  expect(await ids(4)).toEqual([1, 2, first, first + 1]);
});

test('a lease whose holder ended while its clock was ahead is granted when it is not renewed', async () => {
  const HOUR = 3_600_000;
  const open = async (ahead: number) => {
    const clock = manualClock(NOW + ahead);
    const store = pgliteStore(database, { schema: 'leases' });
    await store.open({ domain: DOMAIN, clock });
    onTestFinished(() => store.close());
    return { clock, acquire: () => store.leases.acquire({ name: 'indexer', holder: String(ahead), ttl: 15_000 }) };
  };
  const [ahead, right] = [await open(2 * HOUR), await open(0)];
  expect(await ahead.acquire()).toMatchObject({ status: 'held', term: 1 });
  const waiting = async () => {
    right.clock.advance(15_000);
    return (await right.acquire()).status;
  };
  for (let n = 0; n < 10; n++) {
    ahead.clock.advance(15_000);
    expect([await waiting(), await ahead.acquire()]).toMatchObject(['taken', { status: 'held', term: 1 }]);
  }
  // The holder ends.
  const outcomes = [];
  for (let n = 0; n < 6; n++) outcomes.push(await waiting());
  expect(outcomes).toEqual(['taken', 'taken', 'taken', 'taken', 'taken', 'held']);
});

test('a lease of an ended holder is granted after the clock of the next one was corrected', async () => {
  const HOUR = 3_600_000;
  const open = async (holder: string, now: number) => {
    const clock = manualClock(now);
    const store = pgliteStore(database, { schema: 'corrected_leases' });
    await store.open({ domain: DOMAIN, clock });
    onTestFinished(() => store.close());
    return { clock, acquire: () => store.leases.acquire({ name: 'indexer', holder, ttl: 15_000 }) };
  };
  const [ended, next] = [await open('ended', NOW + 2 * HOUR), await open('next', NOW + HOUR)];
  expect(await ended.acquire()).toMatchObject({ status: 'held' });
  expect(await next.acquire()).toMatchObject({ status: 'taken' });
  next.clock.jump(-HOUR);
  expect(await next.acquire()).toMatchObject({ status: 'taken' });
  next.clock.advance(75_000);
  expect(await next.acquire()).toMatchObject({ status: 'held' });
});

describeAccountConformance('PostgreSQL account store on PGlite', {
  traits: pgliteAccountStore(database).traits,
  create: async () => ({
    connect: () => pgliteAccountStore(database),
    dispose: () => emptyAccountSchema(place('intentbook_accounts')),
  }),
});

test('book on PGlite serves an order, and leaves the database to the application', async () => {
  const store = pgliteStore(database, { schema: 'books' });
  const book = createOrderBook({ chainId: SEPOLIA, store });
  await book.start();
  const validTo = Math.floor(Date.now() / 1000) + 600;
  const result = await book.orders.submit(await signOrder(account(1), { validTo }));
  if (result.status !== 'accepted') throw result.error;
  expect(await book.orders.get(result.uid)).toMatchObject({ uid: result.uid, status: 'open' });
  await book.close();
  const { rows } = await database.query<{ n: number }>('SELECT count(*)::integer AS n FROM books.orders');
  expect(rows).toEqual([{ n: 1 }]);
});

test('store on PGlite does not join a transaction of the host', () => {
  expect(pgliteStore(database).traits).toEqual({
    name: 'postgres',
    durable: false,
    writers: 'many',
    verifiesBodies: true,
    hostTransaction: false,
  });
});

describe('PostgreSQL store whose connection breaks during an insert', () => {
  const BROKEN = new Error('Connection terminated unexpectedly');

  /** A store. While `intercept` is set, it replaces the execution of each statement. */
  async function fixture({ processId }: { readonly processId?: number } = {}) {
    const pool = getPglitePool(database);
    const [row] = (await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
    const state: { intercept?: (query: PgQuery, run: () => Promise<unknown>) => Promise<unknown> } = {};
    const interceptable: PgPool = {
      singleConnection: true,
      async connect() {
        const client = await pool.connect();
        return {
          processID: processId ?? row?.pid ?? 0,
          query: (query) => {
            const run = () => client.query(query);
            return (state.intercept?.(query, run) ?? run()) as ReturnType<typeof run>;
          },
          release: (error) => client.release(error),
        };
      },
    };
    const settings = { schema: 'intentbook', migrate: true, durable: false, listen: false };
    const store = postgresStore(interceptable, settings);
    await emptyIfPresent();
    await store.open({ domain: DOMAIN, clock: systemClock });
    return {
      store,
      state,
      [Symbol.asyncDispose]: async () => void (await Promise.all([store.close(), emptyIfPresent()])),
    };
  }

  async function emptyIfPresent() {
    const { rows } = await database.query("SELECT FROM pg_tables WHERE schemaname = 'intentbook'");
    if (rows.length > 0) await emptySchema(place('intentbook'));
  }

  const isInsert = ({ text }: PgQuery) => text.includes('insert_orders(');
  const statuses = (outcomes: readonly { readonly status: string }[]) => outcomes.map(({ status }) => status);

  test.each([
    ['before its execution', false],
    ['after its commit', true],
  ])('%s: each order is inserted once, and a repeated one is a duplicate', async (_, isCommitted) => {
    await using book = await fixture();
    const { store, state } = book;
    state.intercept = async (query, run) => {
      if (!isInsert(query)) return run();
      delete state.intercept;
      if (isCommitted) await run();
      throw BROKEN;
    };
    const inserts = [order(1), order(2), order(1)].map((each) => ({ order: each }));
    expect(statuses(await store.orders.insert(inserts))).toEqual(['inserted', 'inserted', 'duplicate']);
    expect(await store.orders.count(ALICE, NOW)).toEqual({ open: 2, pending: 0 });
    expect(await store.events.after(0, 9)).toHaveLength(2);
  });

  test('before its execution: an order that another process has inserted meanwhile is a duplicate', async () => {
    await using book = await fixture();
    const { store, state } = book;
    const other = pgliteStore(database);
    await other.open({ domain: DOMAIN, clock: systemClock });
    let inserted: Promise<unknown> | undefined;
    state.intercept = async (query, run) => {
      if (!isInsert(query)) return run();
      delete state.intercept;
      inserted = other.orders.insert([{ order: order(1) }]); // runs when the connection is free
      throw BROKEN;
    };
    const outcomes = await store.orders.insert([{ order: order(1) }, { order: order(2) }]);
    expect(await inserted).toEqual([{ status: 'inserted' }]);
    expect(statuses(outcomes)).toEqual(['duplicate', 'inserted']);
    await other.close();
  });

  test('the outcome of every order is unknown if the session cannot be identified', async () => {
    await using book = await fixture({ processId: 1 });
    const { store, state } = book;
    state.intercept = async (query, run) => {
      if (!isInsert(query)) return run();
      delete state.intercept;
      await run();
      throw BROKEN;
    };
    const inserts = [order(1), order(2)].map((each) => ({ order: each }));
    expect(statuses(await store.orders.insert(inserts))).toEqual(['unknown', 'unknown']);
    expect(await store.orders.get([order(1).uid])).toHaveLength(1);
  });

  test.each([
    ['is reported if nothing was stored', false],
    ['leaves the outcome unknown if orders were stored', true],
  ])('a failure of the second attempt %s', async (_, isCommitted) => {
    await using book = await fixture();
    const { store, state } = book;
    let attempts = 0;
    state.intercept = async (query, run) => {
      if (!isInsert(query)) return run();
      attempts++;
      if (attempts > 1) throw Object.assign(new Error('full'), { code: '53100' });
      if (isCommitted) await run();
      throw BROKEN;
    };
    const result = await store.orders.insert([{ order: order(1) }]).catch((failure: unknown) => failure);
    expect(attempts).toBe(2);
    if (isCommitted) expect(result).toEqual([{ status: 'unknown' }]);
    else expect(result).toMatchObject({ code: 'Unavailable', cause: { code: '53100' } });
  });

  test('the outcome is unknown if neither attempt nor the orders can be read', async () => {
    await using book = await fixture();
    const { store, state } = book;
    state.intercept = async (query, run) => {
      if (isInsert(query)) throw BROKEN;
      if (query.text.includes('.orders')) throw Object.assign(new Error('missing'), { code: '42P01' });
      return run();
    };
    expect(await store.orders.insert([{ order: order(1) }])).toEqual([{ status: 'unknown' }]);
  });

  test('after its commit: an order that was deleted before it could be attributed has an unknown outcome', async () => {
    await using book = await fixture();
    const { store, state } = book;
    let isFirst = true;
    state.intercept = async (query, run) => {
      if (query.text.startsWith('SELECT o.key, o.attempt')) await database.query('DELETE FROM intentbook.orders');
      const result = await run();
      if (!isInsert(query) || !isFirst) return result;
      isFirst = false;
      throw BROKEN;
    };
    expect(await store.orders.insert([{ order: order(1) }])).toEqual([{ status: 'unknown' }]);
  });
});
