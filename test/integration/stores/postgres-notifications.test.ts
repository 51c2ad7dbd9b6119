import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { order, place } from '../../conformance/orders.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres } from '../../support/postgres-server.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ max_notify_queue_pages: '64' }); // the minimum
  await migratePostgres({ url: server.url });
});
afterAll(async () => await server?.dispose());

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  return client;
}

test('PostgreSQL log is read although the queue of notifications is full', async () => {
  const store = postgresStore({ url: server.url });
  await store.open({ domain: DOMAIN, clock: systemClock });
  const [listener, sender] = [await connect(), await connect()];
  // A listener of another application. Its open transaction keeps all later notifications in the queue.
  await listener.query('LISTEN other');
  await listener.query('BEGIN; SELECT 1');
  const fill = async () => {
    for (let n = 0; ; n++) await sender.query("SELECT pg_notify('other', $1)", [String(n).padEnd(7000)]);
  };
  await expect(fill()).rejects.toMatchObject({ code: '54000' });
  await place(store, order(1));
  expect(await store.events.last()).toBe(1);
  await place(store, order(2));
  expect((await store.events.after(0, 9)).map(({ uid }) => uid)).toEqual([order(1).uid, order(2).uid]);
  await Promise.all([listener.end(), sender.end(), store.close()]);
});
