import { migratePostgres } from 'intentbook/postgres';
import { afterAll, describe, expect, test } from 'vitest';
import { temporarySchema } from '../../support/postgres.ts';
import { createRestrictedDatabase } from '../../support/postgres-dialect.ts';
import { createDialectSuite } from './postgres-dialect.ts';

const database = await createRestrictedDatabase();
const suite = await createDialectSuite(database, 1);
afterAll(async () => {
  await suite[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** Groups that run in `npm test`. `npm run test:long -- --suite postgres-dialect` runs all. */
const GROUPS = ['insert', 'quotas', 'replace', 'cancel', 'auctions'];

describe('PostgreSQL store without features that compatible databases lack', () => {
  for (const { group, name, skip, run } of suite.cases.filter((each) => GROUPS.includes(each.group))) {
    test.skipIf(skip !== undefined)(`${group}: ${name}`, run);
  }

  test('uses none of them, and repeats what failed to serialize', () => {
    expect(suite.counts.denied).toEqual([]);
    expect(suite.counts.injected).toBeGreaterThan(suite.counts.attempts / 20);
  });
});

/** Constraints of the book that do not contain the owner, which docs/deploy/postgresql.md lists. */
const WITHOUT_OWNER = [
  'auctions (id)',
  'blocks (number)',
  'chain_events (block, log)',
  'competitions (auction)',
  'documents (hash)',
  'domain (id)',
  'events (xid, ordinal)',
  'first_trades (token)',
  'log_epochs (start)',
  'leases (name)',
  'log (last)',
  'log_lock (id)',
  'migrations (version)',
  'progress (id)',
  'quotes (id)',
];

test('PostgreSQL tables of orders, fills, tombstones and owners are unique by a key with the owner', async () => {
  await using place = await temporarySchema();
  await migratePostgres({ url: place.url, schema: place.schema });
  const rows = await place.query(`
    SELECT c.relname || ' (' || string_agg(a.attname, ', ' ORDER BY k.n) || ')' AS name
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace s ON s.oid = c.relnamespace
    CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k (attnum, n)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
    WHERE i.indisunique AND s.nspname = '${place.schema}' GROUP BY c.relname, i.indexrelid ORDER BY 1`);
  const names = rows.map(({ name }) => name);
  // The key of an order is its UID, which contains the owner.
  const keyed = ['fills (key)', 'orders (key)', 'owners (owner)', 'tombstones (key)'];
  expect(names).toEqual([...WITHOUT_OWNER, ...keyed].sort());
});
