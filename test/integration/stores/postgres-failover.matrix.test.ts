import type { Store, StoredEvent } from 'intentbook';
import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { order, place, range } from '../../conformance/orders.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres, startStandby } from '../../support/postgres-server.ts';
import { forward } from '../../support/tcp-proxy.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function opened(url: string, options = {}): Promise<Store> {
  const store = postgresStore({ url, listen: false, ...options });
  await store.open({ domain: DOMAIN, clock: systemClock });
  closing.push(() => store.close());
  return store;
}

async function query(server: PostgresServer, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return rows;
}

/** A primary behind an address that can lead to its standby instead. */
async function pair() {
  const primary = await startPostgres();
  closing.push(() => primary.dispose());
  await migratePostgres({ url: primary.url });
  // The standby receives the log of the primary through this link.
  const link = await forward(primary.port);
  const standby = await startStandby({ ...primary, port: link.port });
  closing.push(() => standby.dispose());
  closing.push(() => link.close());
  const address = await forward(primary.port);
  closing.push(() => address.close());
  const url = `postgres://postgres@127.0.0.1:${address.port}/postgres`;
  return {
    primary,
    standby,
    link,
    url,
    /** Waits until the standby has replayed everything. */
    async catchUp() {
      const [row] = await query(primary, 'SELECT pg_current_wal_flush_lsn()::text AS lsn');
      const replayed = `SELECT pg_last_wal_replay_lsn() >= '${row?.['lsn']}'::pg_lsn AS replayed`;
      await expect.poll(async () => (await query(standby, replayed))[0]?.['replayed'], { timeout: 10_000 }).toBe(true);
    },
    /** Loses what the standby has not replayed, promotes it, and leads the address to it. */
    async failOver() {
      await primary.stop();
      await query(standby, 'SELECT pg_promote()');
      address.lead(standby.port);
    },
  };
}

const uidsOf = (events: readonly StoredEvent[]) => events.map(({ uid }) => uid);

test('PostgreSQL log begins a new log epoch after a failover that loses events', async () => {
  const { url, link, catchUp, failOver } = await pair();
  const store = await opened(url);
  await place(store, order(1));
  await place(store, order(2));
  const [first] = await store.events.after(0, 9);
  await catchUp();
  await link.close();
  // Acknowledged and read, but lost: the standby is asynchronous and does not receive it.
  await place(store, order(3));
  const seen = (await store.events.after(0, 9)).at(-1)?.id ?? 0;
  expect(seen).toBe((first?.id ?? 0) + 2);
  await failOver();

  await expect
    .poll(
      () =>
        place(store, order(4)).then(
          () => true,
          () => false,
        ),
      { timeout: 10_000 },
    )
    .toBe(true);
  expect((await store.orders.list({ limit: 9 })).map(({ uid }) => uid)).not.toContain(order(3).uid);
  // A reader that has seen the lost event receives every later one, under an id that no event had before.
  const events = await store.events.after(seen, 9);
  expect(uidsOf(events)).toEqual([order(4).uid]);
  expect(events[0]?.id).toBeGreaterThan(seen + 1); // the hole is the gap of a reader
  expect(uidsOf(await store.events.after(0, 9))).toEqual([order(1).uid, order(2).uid, order(4).uid]);
});

test('promoted replica serves reads again', async () => {
  const { primary, standby, url, catchUp, failOver } = await pair();
  const store = await opened(url, { readUrl: standby.url });
  await place(store, order(1));
  await catchUp();
  await failOver();
  await expect
    .poll(
      () =>
        place(store, order(2)).then(
          () => true,
          () => false,
        ),
      { timeout: 10_000 },
    )
    .toBe(true);
  const reads = async () => {
    const rows = await query(
      standby,
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE '%o.quote FROM%' AND pid <> pg_backend_pid()",
    );
    return rows[0]?.['n'];
  };
  for (const n of range(3)) expect(await store.orders.get([order(n).uid])).toHaveLength(n === 0 ? 0 : 1);
  expect(await reads()).toBeGreaterThan(0);
  await primary.start();
});
