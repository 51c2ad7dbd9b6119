import type { AccountStore, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { postgresAccountStore, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { order, place, range } from '../../conformance/orders.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres } from '../../support/postgres-server.ts';

const context = { domain: DOMAIN, clock: systemClock };

let server: PostgresServer;
let admin: pg.Client;
beforeAll(async () => {
  server = await startPostgres({ max_connections: '20', superuser_reserved_connections: '3' });
  admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await server.dispose();
});

const storeOn = (schema: string, connections: number) =>
  postgresStore({ url: server.url, schema, connections, migrate: true });

/** Opens a session that names a pool of another process. */
async function connectLikePool(maximum: number, id: string) {
  const client = new pg.Client({ connectionString: server.url, application_name: `intentbook ${maximum} ${id}` });
  await client.connect();
  return { [Symbol.asyncDispose]: () => client.end() };
}

/** Runs work with stores, which are closed afterwards. */
async function withStores<T>(stores: readonly (Store | AccountStore)[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}

describe('PostgreSQL stores with the same connection string', () => {
  test('share the largest number of connections and one that listens', async () => {
    const warnings: string[] = [];
    process.on('warning', ({ name, message }) => name === 'DeprecationWarning' && warnings.push(message));
    const stores = range(12).map((n) => storeOn(`book_${n}`, n === 4 ? 7 : 4));
    const accounts = postgresAccountStore({ url: server.url, connections: 4, migrate: true });
    await withStores([...stores, accounts], async () => {
      for (const store of stores) await store.open(context);
      await accounts.open(context);
      const listening = "SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
      stores[0]?.events.watch(() => {});
      await expect.poll(async () => (await admin.query(listening)).rowCount).toBe(1);
      for (const store of stores.slice(1)) store.events.watch(() => {});
      await Promise.all(stores.flatMap((store) => range(4).map((n) => place(store, order(n + 1)))));
      const { rows } = await admin.query(
        `SELECT count(*)::integer AS all, count(*) FILTER (WHERE query LIKE 'LISTEN%')::integer AS listening
          FROM pg_stat_activity WHERE application_name LIKE 'intentbook %'`,
      );
      expect(rows).toEqual([{ all: expect.any(Number), listening: 1 }]);
      expect(rows[0].all).toBeLessThanOrEqual(7);
    });
    expect(warnings).toEqual([]);
    // The last one has closed the pool. Sessions end shortly afterwards.
    await expect
      .poll(async () => (await admin.query("SELECT FROM pg_stat_activity WHERE application_name LIKE 'i%'")).rowCount)
      .toBe(0);
  });

  test('are rejected at open if one process may open too many connections', async () => {
    await expect(storeOn('many', 18).open(context)).rejects.toMatchObject({
      code: 'Unsupported',
      message:
        'the server has 17 connections for this role, but this process may open 18; reduce `connections`, raise ' +
        'max_connections, or use a pooler',
    });
  });

  test('are rejected at open if all processes together may open too many connections', async () => {
    await using _ = await connectLikePool(6, 'aaaa');
    await using __ = await connectLikePool(5, 'aaaa'); // the same pool, before it has grown
    await using ___ = await connectLikePool(6, 'bbbb');
    const store = storeOn('many', 5);
    await withStores([store], () => store.open(context));
    const next = storeOn('many', 6);
    await expect(next.open(context)).rejects.toThrow('17 connections for this role, but 3 processes may open 18');
  });

  test('are rejected at open by the limit of the role', async () => {
    await admin.query('CREATE ROLE few LOGIN CONNECTION LIMIT 3 IN ROLE pg_read_all_data');
    const url = new URL(server.url);
    url.username = 'few';
    await expect(postgresStore({ url: url.href, connections: 4 }).open(context)).rejects.toThrow(
      'the server has 3 connections for this role, but this process may open 4',
    );
  });
});
