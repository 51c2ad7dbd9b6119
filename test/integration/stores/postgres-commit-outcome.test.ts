import type { Socket } from 'node:net';
import type { StoreError } from 'intentbook';
import type { PgPool, PgPoolClient } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { createCommitOutcomeResolver } from '../../../adapters/postgres/commit-outcome.ts';
import { openSession } from '../../../adapters/postgres/session.ts';
import { postgresUrl } from '../../support/postgres.ts';

const pool = new pg.Pool({ connectionString: await postgresUrl(), max: 2 });
afterAll(() => pool.end());

/** Runs a transaction and returns its identity. `during` is called before its end. */
async function run(end: 'COMMIT' | 'ROLLBACK', during: (id: { number: string; serverEpoch: string }) => Promise<void>) {
  const client = await pool.connect();
  try {
    const started = await resolver.begin(client);
    await during(started);
    await client.query(end);
    return started;
  } finally {
    client.release();
  }
}

let waits = 0;
const resolver = createCommitOutcomeResolver(pool, async () => void waits++);

test('outcome of a transaction is known after its end', async () => {
  const committed = await run('COMMIT', async () => {});
  expect(await resolver.wasCommitted(committed)).toBe(true);
  const rolledBack = await run('ROLLBACK', async () => {});
  expect(await resolver.wasCommitted(rolledBack)).toBe(false);
});

/** Breaks the connection of a running statement, and determines whether its session has ended. */
async function settleBroken(url: string) {
  const own = new pg.Pool({ connectionString: url, max: 2 });
  own.on('error', () => {});
  own.on('connect', (client) => void client.on('error', () => {}));
  let processId = 0;
  const lent: PgPool = {
    async connect() {
      const client = await own.connect();
      processId ||= (client as unknown as { readonly processID: number }).processID;
      return client as PgPoolClient;
    },
  };
  const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const session = openSession(lent, { schema: '"none"', named: false, direct: true, strict: false, wait });
  const call = session.call('insert orders', (query) => query({ text: 'SELECT pg_sleep(30)' }));
  await expect.poll(() => processId).toBeGreaterThan(0);
  const isRunning = async () => {
    const { rows } = await pool.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [processId]);
    return rows.length > 0;
  };
  for (const client of (own as unknown as { readonly _clients: pg.Client[] })._clients) {
    (client as unknown as { readonly connection: { stream: Socket } }).connection.stream.destroy();
  }
  const failure = await call.catch((error: unknown) => error);
  const hasEnded = await session.settle(failure);
  await own.end();
  return { code: (failure as StoreError).code, hasEnded, isRunning: await isRunning() };
}

test('outcome of a broken connection is resolved after its session has ended', async () => {
  const outcome = await settleBroken(await postgresUrl());
  expect(outcome).toEqual({ code: 'OutcomeUnknown', hasEnded: true, isRunning: false });
});

test('outcome of a broken connection is not known while a session runs that its role cannot end', async () => {
  const [group, member] = [`group_${process.pid}`, `member_${process.pid}`];
  await pool.query(`CREATE ROLE ${group}; CREATE ROLE ${member} LOGIN IN ROLE ${group}`);
  // As a service that issues temporary roles does, so that all of them own the same objects.
  await pool.query(`ALTER ROLE ${member} SET role = ${group}`);
  try {
    const url = new URL(await postgresUrl());
    url.username = member;
    const outcome = await settleBroken(url.href);
    expect(outcome).toEqual({ code: 'OutcomeUnknown', hasEnded: false, isRunning: true });
  } finally {
    await pool.query('SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = $1', [member]);
    await pool.query(`DROP ROLE ${member}; DROP ROLE ${group}`);
  }
});

test('outcome of a running transaction is not known', async () => {
  waits = 0;
  await run('COMMIT', async (running) => expect(await resolver.wasCommitted(running)).toBeUndefined());
  expect(waits).toBe(7);
});

test('committed id of another epoch may belong to another transaction, so the outcome is not known', async () => {
  const committed = await run('COMMIT', async () => {});
  const beforeCrash = { ...committed, serverEpoch: '2020-01-01 00:00:00+00' };
  expect(await resolver.wasCommitted(beforeCrash)).toBeUndefined();
});

test('id that the server has not assigned was not committed', async () => {
  const committed = await run('COMMIT', async () => {});
  const lost = { ...committed, number: String(BigInt(committed.number) + 1_000_000n) };
  expect(await resolver.wasCommitted(lost)).toBe(false);
});
