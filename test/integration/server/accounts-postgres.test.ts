import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningServer } from 'intentbook/server';
import { serve } from 'intentbook/server';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { account, signCancellation, signOrder } from '../../support/orders.ts';
import { temporaryDatabase } from '../../support/postgres.ts';
import { until } from '../channels/channel-fixture.ts';
import { cleanUp, intentbook, scratch } from './process.ts';

const ALICE = account(1);

afterEach(cleanUp);

async function notificationsOf(server: RunningServer): Promise<{ readonly id: string; readonly type: string }[]> {
  const response = await fetch(`${server.url}/accounts/${ALICE.address}/notifications`);
  expect(response.status).toBe(200);
  return (await response.json()) as { id: string; type: string }[];
}

test('servers over PostgreSQL share their accounts after one migration', async () => {
  await using database = await temporaryDatabase();
  const { url } = database;
  const places = ['--postgres', url, '--accounts', url];
  const first = await intentbook(['migrate', '--postgres', url]).ended;
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^the schema intentbook was brought to/) });
  const rejected = await intentbook(['serve', '--port', '0', ...places]).ended;
  expect(rejected.code).toBe(1);
  expect(rejected.stderr).toContain('intentbook migrate --accounts URL');
  expect((await intentbook(['migrate', ...places]).ended).stdout).toMatch(
    /^the schema intentbook was up to date\nthe schema of accounts was brought to version \d+\n$/,
  );
  expect((await intentbook(['migrate', '--accounts', url]).ended).stdout).toBe(
    'the schema of accounts was up to date\n',
  );

  const servers = [];
  for (let i = 0; i < 2; i++) servers.push(await serve({ port: 0, postgres: url, accounts: url }));
  const [one, other] = servers as [RunningServer, RunningServer]; // two servers
  const signed = await signOrder(ALICE, { validTo: Math.floor(Date.now() / 1000) + 600 });
  const result = await one.book.orders.submit(signed);
  if (result.status !== 'accepted') throw result.error;
  const orderUids = [result.uid];
  await other.book.orders.cancel({ orderUids, ...(await signCancellation(ALICE, { orderUids })) });
  await until(async () => (await notificationsOf(one)).length > 0);
  expect(await notificationsOf(other)).toEqual(await notificationsOf(one));
  expect((await notificationsOf(one)).map(({ type }) => type)).toEqual(['order_cancelled']);
  for (const server of servers) await server.close();
});

test('servers use the same settings of the pooler for the accounts in the database of a book', async () => {
  await using database = await temporaryDatabase();
  const { url } = database;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const count = async () => {
    const text =
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()";
    return (await client.query(text)).rows[0].n;
  };
  const places = { port: 0, migrate: true, postgres: url, accounts: url };
  // A store listens when it has subscribers: the book has the notification indexer. Both use the same connection.
  const subscribe = async ({ accounts }: RunningServer) => void (await accounts?.notifications.stream(ALICE.address));
  const detecting = await serve(places);
  await subscribe(detecting);
  await expect.poll(count).toBe(1);
  await detecting.close();
  const pooled = await serve({ ...places, postgresPooler: 'transaction' });
  await subscribe(pooled);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await count()).toBe(0);
  await pooled.close();
  await client.end();
});

test('account stores in a SQLite file are migrated', async () => {
  const file = join(await scratch(), 'accounts.sqlite');
  const { code, stdout } = await intentbook(['migrate', '--accounts', file]).ended;
  expect([code, stdout]).toEqual([0, `the accounts in ${file} are up to date\n`]);
  expect(existsSync(file)).toBe(true);
});

test('check --connect names what differs in the schemas, and exits with 1', async () => {
  await using database = await temporaryDatabase();
  const { url } = database;
  const check = async (...flags: string[]) =>
    intentbook(['check', '--postgres', url, '--accounts', url, ...flags]).ended;
  expect(await check()).toMatchObject({ code: 0 });
  const empty = await check('--connect');
  expect(empty.code).toBe(1);
  expect(empty.stderr).toContain('/: the schema "intentbook" has version 0');
  expect(empty.stderr).toContain('accounts: the schema "intentbook_accounts" has version 0');
  await intentbook(['migrate', '--postgres', url, '--accounts', url]).ended;
  expect(await check('--connect', '--json')).toMatchObject({ code: 0, stdout: expect.stringContaining('"ok":true') });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('ALTER TABLE intentbook.orders DROP COLUMN quote');
  await client.end();
  expect((await check('--connect')).stderr).toContain('the column orders.quote is missing');
});
