import type { Clock, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import type { PgPool, PgPoolClient } from 'intentbook/postgres';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apply, trade } from '../../conformance/chain.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { order } from '../../conformance/orders.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres, startStandby } from '../../support/postgres-server.ts';

let primary: PostgresServer;
let standby: PostgresServer;
let pools: { readonly primary: pg.Pool; readonly standby: pg.Pool };
let store: Store;
/** The start of the statement after which the connection breaks. */
let breaksAfter: string | undefined;
/** Returns whether the address leads to the standby after a statement. */
let isLed: (text: string, rows: readonly unknown[]) => boolean = () => false;
let leadsTo: 'primary' | 'standby' = 'primary';

/** A pool whose address leads to the standby after a statement, like a proxy that takes the primary for down. */
const pool: PgPool = {
  async connect() {
    const client: PgPoolClient = await pools[leadsTo].connect();
    return {
      ...(client.processID === undefined ? {} : { processID: client.processID }),
      async query(query) {
        const result = await client.query(query);
        if (isLed(query.text, result.rows)) leadsTo = 'standby';
        if (breaksAfter === undefined || !query.text.startsWith(breaksAfter)) return result;
        breaksAfter = undefined;
        throw new Error('Connection terminated unexpectedly');
      },
      release: (error) => client.release(error),
    };
  },
};

function createPool(server: PostgresServer): pg.Pool {
  const created = new pg.Pool({ connectionString: server.url });
  created.on('error', () => {});
  return created;
}

beforeAll(async () => {
  primary = await startPostgres();
  await migratePostgres({ url: primary.url });
  standby = await startStandby(primary);
  pools = { primary: createPool(primary), standby: createPool(standby) };
  store = postgresStore(pool, { listen: false });
  const after: Clock['after'] = (_, run) => systemClock.after(10, run); // repeated queries wait less
  await store.open({ domain: DOMAIN, clock: { ...systemClock, after } });
});
afterAll(async () => {
  await store?.close();
  await Promise.all([pools.primary.end(), pools.standby.end()]);
  await standby?.dispose();
  await primary?.dispose();
});

describe('PostgreSQL insert whose address leads to a standby after its commit', () => {
  const INSERT = 'SELECT "intentbook".insert_orders';
  const isInsert = (text: string) => text.startsWith(INSERT);
  const isCommit = (text: string) => text === 'COMMIT';
  const isLastEnd = (text: string, rows: readonly unknown[]) =>
    text.includes('pg_terminate_backend') && rows.length === 0;
  test.each([
    ['of one statement', order(1), INSERT, isInsert],
    ['of one statement whose session has ended', order(2), INSERT, isLastEnd],
    ['of a transaction', order(3), 'COMMIT', isCommit],
  ])('has an unknown outcome %s, although the standby lacks the order', async (_, inserted, breaks, led) => {
    await apply(store, 10, trade(order(3), 10));
    await pools.standby.query('SELECT pg_wal_replay_pause()');
    try {
      [breaksAfter, isLed] = [breaks, led];
      expect(await store.orders.insert([{ order: inserted }])).toEqual([{ status: 'unknown' }]);
      expect([breaksAfter, leadsTo]).toEqual([undefined, 'standby']);
      [isLed, leadsTo] = [() => false, 'primary'];
      expect(await store.orders.get([inserted.uid])).toHaveLength(1);
    } finally {
      [breaksAfter, isLed, leadsTo] = [undefined, () => false, 'primary'];
      await pools.standby.query('SELECT pg_wal_replay_resume()');
    }
  });
});
