import type { Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { PLACED_AT, word } from '../../conformance/orders.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres } from '../../support/postgres-server.ts';

let server: PostgresServer;
/** A session that does not wait for the standby. */
let operator: pg.Client;

async function setStandby(name: string): Promise<void> {
  await operator.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await operator.query('SELECT pg_reload_conf()');
  const show = async () => (await operator.query('SHOW synchronous_standby_names')).rows;
  await expect.poll(show).toEqual([{ synchronous_standby_names: name }]);
}

beforeAll(async () => {
  server = await startPostgres();
  await migratePostgres({ url: server.url });
  operator = new pg.Client({ connectionString: server.url });
  await operator.connect();
  await operator.query("SET synchronous_commit = 'local'");
});
afterAll(async () => {
  await operator?.end();
  await server?.dispose();
});

async function opened(): Promise<Store> {
  const store = postgresStore({ url: server.url, listen: false });
  await store.open({ domain: DOMAIN, clock: systemClock });
  return store;
}

describe('PostgreSQL transaction whose session ends while it waits for the synchronous standby', () => {
  /** Applies a batch without events, and ends its session when only the standby is missing. */
  async function applyAndEnd(store: Store, first: number) {
    await setStandby('ghost');
    const end =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'";
    // The server may need a moment, and does not wait for the standby before.
    for (let number = first; ; number++) {
      const through = { number, hash: word(number) };
      const applying = store.chain.apply({ events: [], blocks: [], through, forgetBelow: 0, at: PLACED_AT });
      let isOver = false;
      const outcome = applying
        .then(
          ({ status }) => status,
          ({ code }) => code,
        )
        .finally(() => {
          isOver = true;
        });
      while (!isOver) if ((await operator.query(end)).rowCount === 1) return { outcome };
    }
  }

  test('has an unknown outcome if the standby does not return', async () => {
    const store = await opened();
    const { outcome } = await applyAndEnd(store, 1);
    expect(await outcome).toBe('OutcomeUnknown');
    await setStandby('');
    await store.close();
  });

  test('returns its result when the standby is no longer required', async () => {
    const store = await opened();
    const { outcome } = await applyAndEnd(store, 1000);
    // The query of the outcome waits for the standby too.
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query <> 'COMMIT'";
    await expect.poll(async () => (await operator.query(waiting)).rowCount).toBe(1);
    await setStandby('');
    expect(await outcome).toBe('applied');
    await store.close();
  });
});
