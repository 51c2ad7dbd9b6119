import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { createCommitOutcomeResolver } from '../../../adapters/postgres/commit-outcome.ts';
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
