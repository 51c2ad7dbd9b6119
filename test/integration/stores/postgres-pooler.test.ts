import type { Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPool, getErrorCode } from '../../../adapters/postgres/database-driver.ts';
import { migrate } from '../../../adapters/postgres/migrate.ts';
import { BOOK_SCHEMA } from '../../../adapters/postgres/schema.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { address, NOW, order, PLACED_AT, range } from '../../conformance/orders.ts';
import type { FrontProgram } from '../../support/poolers.ts';
import { findMissingPrograms, startPgBouncer } from '../../support/poolers.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres } from '../../support/postgres-server.ts';

const missing = findMissingPrograms('pgbouncer').join();

describe.each(['transaction', 'session'] as const)('PostgreSQL store behind PgBouncer in %s mode', (mode) => {
  let server: PostgresServer;
  let pooler: FrontProgram;
  beforeAll(async () => {
    if (missing !== '') return;
    server = await startPostgres();
    await migratePostgres({ url: server.url });
    pooler = await startPgBouncer(server.port, mode);
  });
  afterAll(async () => {
    await pooler?.stop();
    await server?.dispose();
  });

  async function opened(): Promise<Store> {
    const store = postgresStore({ url: pooler.url, pollInterval: 50 });
    await store.open({ domain: DOMAIN, clock: systemClock });
    return store;
  }

  test('stores every order and returns every event without settings', async (context) => {
    if (missing !== '') {
      context.task.meta.skipped = `${missing} is not installed`;
      context.skip(`${missing} is not installed`);
    }
    const stores = [await opened(), await opened(), await opened()];
    const [reader] = stores;
    const seen = new Set<string>();
    let hints = 0;
    const stop = reader?.events.watch(() => hints++);
    const orders = range(150).map((n) => order(n, { owner: address(n % 20) }));
    const outcomes = await Promise.all(
      orders.map((each, n) => stores[n % 3]?.orders.insert([{ order: each, quota: 100 }])),
    );
    expect(outcomes.flat().every((outcome) => outcome?.status === 'inserted')).toBe(true);
    const cancelled = orders
      .slice(0, 30)
      .map(({ uid }, n) => stores[n % 3]?.orders.cancel({ uids: [uid], now: NOW, cancelledAt: PLACED_AT }));
    expect((await Promise.all(cancelled)).every((outcome) => outcome?.status === 'cancelled')).toBe(true);
    await Promise.all(stores.map((store) => store.check()));
    for (const { uid } of (await reader?.events.after(0, 500)) ?? []) seen.add(uid);
    expect(seen.size).toBe(orders.length);
    // Without a dedicated session, the store polls for events of other processes.
    await expect.poll(() => hints).toBeGreaterThan(1);
    stop?.();
    await Promise.all(stores.map((store) => store.close()));
  });

  test('refuses migrations that need one session', async (context) => {
    if (missing !== '') {
      context.task.meta.skipped = `${missing} is not installed`;
      context.skip(`${missing} is not installed`);
    }
    const version = 1 + Math.max(...BOOK_SCHEMA.migrations.map((each) => each.version));
    const concurrently = (s: string) => [`CREATE INDEX CONCURRENTLY others ON ${s}.orders (checksum)`];
    const step = { version, name: 'others', breaking: false, locks: 'none', sql: () => '', concurrently };
    const definition = { ...BOOK_SCHEMA, migrations: [...BOOK_SCHEMA.migrations, step] };
    const behind = await createPool(pooler.url, 1);
    await expect(migrate(behind, 'intentbook', definition)).rejects.toThrow(
      `migration ${version} has statements outside of a transaction; migrate without a connection pooler`,
    );
    await behind.end();
    const direct = await createPool(server.url, 1);
    const client = await direct.connect();
    const locks = await client.query({ text: "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'" });
    expect(locks.rows).toEqual([]);
    client.release();
    await direct.end();
  });

  test('cancels statements that take too long, and PgBouncer continues', async (context) => {
    if (missing !== '') {
      context.task.meta.skipped = `${missing} is not installed`;
      context.skip(`${missing} is not installed`);
    }
    const pool = await createPool(pooler.url, 4);
    const clients = await Promise.all(range(4).map(() => pool.connect()));
    const results = await Promise.allSettled(
      clients.map((client) => client.query({ text: 'SELECT pg_sleep(60)', limit: 200 })),
    );
    const codes = results.map((result) => (result.status === 'rejected' ? getErrorCode(result.reason) : 'none'));
    expect(codes).toEqual(clients.map(() => '57014')); // the response of the server to a cancellation
    for (const client of clients) {
      expect((await client.query({ text: 'SELECT 1', rowMode: 'array' })).rows).toEqual([[1]]);
      client.release();
    }
    await pool.end();
  });
});
