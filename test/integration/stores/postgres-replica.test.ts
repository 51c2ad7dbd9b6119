import type { Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { document, NOW, order, PLACED_AT, place } from '../../conformance/orders.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres, startStandby } from '../../support/postgres-server.ts';

let primary: PostgresServer;
let standby: PostgresServer;
/** A transaction on the standby that delays replay. */
let operator: pg.Client;
/** Two processes, each with reads from the standby. */
let store: Store;
let other: Store;

const replay = (verb: 'pause' | 'resume') => operator.query(`SELECT pg_wal_replay_${verb}()`);

async function caughtUp(): Promise<void> {
  const client = new pg.Client({ connectionString: primary.url });
  await client.connect();
  const { rows } = await client.query('SELECT pg_current_wal_flush_lsn()::text AS place');
  await client.end();
  const replayed = async () =>
    (await operator.query('SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS it', [rows[0].place])).rows[0].it;
  await expect.poll(replayed, { timeout: 10_000 }).toBe(true);
}

beforeAll(async () => {
  // A commit that does not wait for the disk is not written for long.
  primary = await startPostgres({ wal_writer_delay: '10s' });
  await migratePostgres({ url: primary.url });
  standby = await startStandby(primary);
  operator = new pg.Client({ connectionString: standby.url });
  operator.on('error', () => {});
  await operator.connect();
  const open = async () => {
    const opened = postgresStore({ url: primary.url, readUrl: standby.url, listen: false });
    await opened.open({ domain: DOMAIN, clock: systemClock });
    return opened;
  };
  store = await open();
  other = await open();
});
afterAll(async () => {
  await store?.close();
  await other?.close();
  await operator?.end();
  await standby?.dispose();
  await primary?.dispose();
});

test('PostgreSQL store with a lagging replica reads its own writes', async () => {
  await place(store, order(1));
  await caughtUp();
  expect(await other.orders.get([order(1).uid])).toHaveLength(1);
  await replay('pause');
  try {
    await place(store, order(2));
    expect(await store.orders.get([order(2).uid])).toHaveLength(1);
    expect((await store.orders.list({ limit: 9 })).map(({ uid }) => uid)).toContain(order(2).uid);
    await store.orders.cancel({ uids: [order(2).uid], now: NOW, cancelledAt: PLACED_AT });
    expect((await store.orders.get([order(2).uid]))[0]?.state).toBe('cancelled');
    // Another process reads the state of the standby, which shows that the standby is used.
    expect(await other.orders.get([order(2).uid])).toEqual([]);
    // Counts, the log and documents of new orders are not read from it.
    expect((await other.events.after(0, 99)).map(({ uid }) => uid)).toContain(order(2).uid);
    // A process with a newer known state reads the order in that state.
    expect(await other.orders.get([order(2).uid])).toMatchObject([{ state: 'cancelled' }]);
    await store.appData.put(document(9, '{"late":true}'));
    expect(await other.appData.get(document(9, '').hash)).toBe('{"late":true}');
  } finally {
    await replay('resume');
  }
  await caughtUp();
  expect(await other.orders.get([order(2).uid])).toHaveLength(1);
});

test('PostgreSQL store with a replica reads its own writes although commits do not wait for the disk', async () => {
  const url = new URL(primary.url);
  url.searchParams.set('options', '-c synchronous_commit=off');
  const fast = postgresStore({ url: url.href, readUrl: standby.url, durable: false, listen: false });
  await fast.open({ domain: DOMAIN, clock: systemClock });
  await place(fast, order(4));
  expect(await fast.orders.get([order(4).uid])).toHaveLength(1);
  await fast.close();
});

test('PostgreSQL store works without its replica', async () => {
  await standby.stop();
  await place(store, order(3));
  expect(await store.orders.get([order(3).uid])).toHaveLength(1);
  expect(await other.orders.get([order(3).uid])).toHaveLength(1);
  await standby.start();
});
