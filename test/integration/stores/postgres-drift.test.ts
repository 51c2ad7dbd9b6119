import { checkPostgres, migratePostgres } from 'intentbook/postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';

let here: TemporarySchema;
beforeAll(async () => {
  here = await temporarySchema();
});
afterAll(async () => await here[Symbol.asyncDispose]());

/** Changes a schema, checks it, and creates it again. */
async function checkAfter(change: string, of: 'book' | 'accounts' = 'book'): Promise<string[]> {
  await here.query(`DROP SCHEMA IF EXISTS "${here.schema}" CASCADE`);
  const options = { url: here.url, schema: here.schema, of };
  await migratePostgres(options);
  for (const text of change.split(';')) await here.query(text.replaceAll('s.', `"${here.schema}".`));
  const problems = await checkPostgres(options);
  return problems.map((problem) => problem.replaceAll(`"${here.schema}"`, 's'));
}

const REBUILD = 'restore a backup, or export the book and import it into a new schema';
const altered = (what: string) => [`the schema s was altered: ${what}; ${REBUILD}`];

describe('check of a PostgreSQL schema', () => {
  test.each(['book', 'accounts'] as const)('accepts that of %s, with additional objects', async (of) => {
    const table = of === 'book' ? 's.orders' : 's.notifications';
    expect(await checkAfter(`CREATE TABLE s.more (); CREATE INDEX more_index ON ${table} ((1))`, of)).toEqual([]);
  });

  test.each([
    ['a column', 'ALTER TABLE s.orders DROP COLUMN quote', 'the column orders.quote is missing'],
    [
      'a type',
      'ALTER TABLE s.log ALTER size TYPE integer',
      'the column log.size is (integer NOT NULL), expected (bigint NOT NULL)',
    ],
    [
      'a null',
      'ALTER TABLE s.log ALTER size DROP NOT NULL',
      'the column log.size is (bigint), expected (bigint NOT NULL)',
    ],
    [
      'a default',
      'ALTER TABLE s.orders ALTER version SET DEFAULT 2',
      'the column orders.version is (bigint NOT NULL 2), expected (bigint NOT NULL 1)',
    ],
    [
      'an index',
      'DROP INDEX s.quotes_expiry; CREATE INDEX quotes_expiry ON s.quotes (expires_at DESC)',
      'the index quotes_expiry is (CREATE INDEX quotes_expiry ON quotes USING btree (expires_at DESC)), expected ' +
        '(CREATE INDEX quotes_expiry ON quotes USING btree (expires_at))',
    ],
    [
      'an index that is not valid',
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 's.quotes_expiry'::regclass",
      'the index quotes_expiry is (not valid), expected (CREATE INDEX quotes_expiry ON quotes USING btree (expires_at))',
    ],
    [
      'a constraint',
      'ALTER TABLE s.orders DROP CONSTRAINT orders_phase_check',
      'the constraint orders_phase_check is missing',
    ],
  ])('names %s that differs', async (_, change, what) => {
    expect(await checkAfter(change)).toEqual(altered(what));
  });

  test('names a function that differs, and the command', async () => {
    expect(await checkAfter('ALTER FUNCTION s.cancel_orders(bytea[], bigint, bigint) SET jit = on')).toEqual([
      'the schema s has other functions (cancel_orders) than this release; run "intentbook migrate --postgres URL ' +
        `--schema ${here.schema}", or open it with \`migrate\` (--migrate)`,
    ]);
  });

  test('names a server that does not respond', async () => {
    expect(await checkPostgres({ url: 'postgres://127.0.0.1:1/books' })).toEqual([
      'the PostgreSQL store cannot check the schema: the server cannot be reached (ECONNREFUSED)',
    ]);
  });

  test('needs no right to create objects, and changes nothing', async () => {
    await checkAfter('SELECT 1');
    const role = `${here.schema}_reader`;
    await here.query(`CREATE ROLE "${role}" LOGIN; GRANT USAGE ON SCHEMA "${here.schema}" TO "${role}";
      GRANT SELECT ON ALL TABLES IN SCHEMA "${here.schema}" TO "${role}"`);
    const url = new URL(here.url);
    url.username = role;
    expect(await checkPostgres({ url: url.href, schema: here.schema })).toEqual([]);
    await here.query(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`);
  });
});
