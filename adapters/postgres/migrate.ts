import type { Domain } from 'intentbook';
import { StoreError } from 'intentbook';
import { assertSameDomain } from 'intentbook/store-kit';
import type { PgClient, PgPool } from './database-driver.ts';
import { TIMEOUTS, toStoreError } from './database-driver.ts';
import type { Query } from './query.ts';
import { createQuery, withConnection } from './query.ts';
import { toBytes } from './rows.ts';
import type { PgMigration } from './schema.ts';
import { BASE_SCHEMA } from './schema.ts';
import type { PostgresSession } from './session.ts';
import { readPartitions } from './tables.ts';

/**
 * Applies the missing migrations, each in its own transaction. Several processes may call this at the same time: one
 * applies the migrations, the others wait and find none missing.
 *
 * @param name - Name of the schema, without quotes. It is created if it does not exist.
 * @param partitions - Number of partitions of a new schema. An existing one must have it, if it is given.
 * @returns The versions that were applied.
 */
export async function migrate(
  pool: PgPool,
  name: string,
  migrations: readonly PgMigration[],
  partitions?: number,
): Promise<number[]> {
  const schema = quote(name);
  try {
    return await withConnection(pool, async (connection) => {
      const client: PgClient = { query: (query) => connection.query({ ...query, limit: UNLIMITED }) };
      const applied: number[] = [];
      for (;;) {
        try {
          await client.query({ text: BEGIN });
          const next = await applyNext(client, name, migrations, partitions);
          await client.query({ text: 'COMMIT' });
          if (next === undefined) return applied;
          applied.push(next);
        } catch (cause) {
          await client.query({ text: 'ROLLBACK' }).catch(() => {}); // a broken connection has already rolled back
          throw cause;
        }
      }
    });
  } catch (cause) {
    throw toStoreError(`migrate the schema ${schema}`, cause);
  }
}

/** The longest time of a timer, in milliseconds. */
const UNLIMITED = 2 ** 31 - 1;

/**
 * A migration, and the wait for that of another process, may take longer than a request. A frozen process does not
 * delay the others for long.
 */
const BEGIN =
  'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; ' +
  `SET LOCAL idle_in_transaction_session_timeout = ${TIMEOUTS.idle}`;

/** Applies the first missing migration. Must run within a transaction. @returns its version, or undefined if none. */
async function applyNext(
  client: PgClient,
  name: string,
  migrations: readonly PgMigration[],
  partitions: number | undefined,
): Promise<number | undefined> {
  const schema = quote(name);
  const run = createQuery(client);
  await run({ text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))' }, `intentbook migrations of ${name}`);
  // With a timeout, so that the migration does not queue behind a long transaction and block all later ones.
  await run({ text: "SET LOCAL lock_timeout = '5s'" });
  // Checked first, so that a role may migrate an existing schema without the right to create one.
  const [exists] = await run({ text: 'SELECT 1 FROM pg_namespace WHERE nspname = $1' }, name);
  if (exists === undefined) await run({ text: `CREATE SCHEMA ${schema}` });
  const [initialized] = await run({ text: 'SELECT to_regclass($1) IS NOT NULL' }, `${schema}.migrations`);
  if (initialized?.[0] !== true) await client.query({ text: BASE_SCHEMA(schema) });
  const applied = await readApplied(run, schema);
  const next = findMissing(applied, migrations)[0];
  const existing = applied.length === 0 ? undefined : await readPartitions(run, schema);
  if (existing !== undefined) assertPartitions(schema, existing, partitions);
  if (next === undefined) return undefined;
  await client.query({ text: next.sql(schema, existing ?? partitions ?? 1) });
  await run(
    { text: `INSERT INTO ${schema}.migrations (version, name, breaking) VALUES ($1, $2, $3)` },
    next.version,
    next.name,
    next.breaking,
  );
  return next.version;
}

/**
 * Checks the number of partitions of a schema.
 *
 * @param expected - Undefined accepts any number.
 * @throws StoreError `Unsupported` if the schema has another number.
 */
export function assertPartitions(schema: string, actual: number, expected: number | undefined): void {
  if (expected === undefined || expected === actual) return;
  const has = actual === 1 ? 'is not partitioned' : `has ${actual} partitions`;
  throw new StoreError(
    'Unsupported',
    `partitions must be ${actual}, got ${expected}: the schema ${schema} ${has}, and the number of a schema cannot change`,
  );
}

interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly breaking: boolean;
}

async function readApplied(run: Query, schema: string): Promise<AppliedMigration[]> {
  const text = `SELECT version, name, breaking FROM ${schema}.migrations`;
  const rows = await run<readonly [number, string, boolean]>({ text });
  return rows.map(([version, name, breaking]) => ({ version, name, breaking }));
}

/** @throws StoreError `Unsupported` if the schema belongs to another kind of store. */
function findMissing(applied: readonly AppliedMigration[], migrations: readonly PgMigration[]): PgMigration[] {
  const foreign = applied.find(({ version, name }) => migrations.some((m) => m.version === version && m.name !== name));
  if (foreign !== undefined) {
    const message = `the schema belongs to another store: its migrations include "${foreign.name}"; use one schema per store`;
    throw new StoreError('Unsupported', message);
  }
  return migrations.filter(({ version }) => !applied.some((migration) => migration.version === version));
}

/**
 * Checks that this release can use the schema. Changes nothing.
 *
 * @param remedy - Text that explains how to migrate an older schema.
 * @throws StoreError `SchemaTooOld` with the remedy, `SchemaTooNew` with the versions.
 */
export async function assertSchema(
  run: Query,
  name: string,
  migrations: readonly PgMigration[],
  remedy = `run "intentbook migrate --postgres URL --schema ${name}", or open it with \`migrate\``,
): Promise<void> {
  const schema = quote(name);
  const [initialized] = await run({ text: 'SELECT to_regclass($1) IS NOT NULL' }, `${schema}.migrations`);
  const applied = initialized?.[0] === true ? await readApplied(run, schema) : [];
  const absent = findMissing(applied, migrations);
  const newest = Math.max(0, ...applied.map(({ version }) => version));
  const supported = migrations.at(-1)?.version ?? 0;
  const tooNew = applied.find(({ version, breaking }) => version > supported && breaking);
  if (tooNew !== undefined) {
    throw new StoreError(
      'SchemaTooNew',
      `the schema ${schema} has version ${newest}; this release supports up to version ${supported}, and version ` +
        `${tooNew.version} is not compatible with it; use a newer release`,
    );
  }
  if (absent.length > 0) {
    throw new StoreError(
      'SchemaTooOld',
      `the schema ${schema} has version ${newest}, this release needs version ${supported}; ${remedy}`,
    );
  }
}

/** Records the domain of a new store, and rejects a store of another domain. */
export async function claimDomain({ schema, prepare, read, write }: PostgresSession, domain: Domain): Promise<void> {
  const find = prepare<readonly [number, Domain['settlementContract']]>(
    `SELECT chain_id, settlement_contract FROM ${schema}.domain`,
  );
  const insert = `INSERT INTO ${schema}.domain VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING`;
  const [existing] = await read('read its domain', (run) => run(find));
  const [recorded] =
    existing === undefined
      ? await write('record its domain', async (run) => {
          await run({ text: insert }, domain.chainId, toBytes(domain.settlementContract));
          return run(find); // another process may have recorded it first
        })
      : [existing];
  if (recorded === undefined) throw new StoreError('Unavailable', 'the domain of the store cannot be recorded');
  assertSameDomain({ chainId: recorded[0], settlementContract: recorded[1] }, domain);
}

/** Quotes an identifier. The name is already validated and contains no quotes. */
export function quote(name: string): string {
  return `"${name}"`;
}
