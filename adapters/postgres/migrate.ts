import type { Domain } from 'intentbook';
import { StoreError } from 'intentbook';
import { assertSameDomain } from 'intentbook/store-kit';
import type { PgClient, PgPool } from './driver.ts';
import { toStoreError } from './driver.ts';
import type { Query } from './query.ts';
import { createQuery, withConnection } from './query.ts';
import { toBytes } from './rows.ts';
import type { PgMigration } from './schema.ts';
import { FOUNDATION } from './schema.ts';
import type { PostgresSession } from './session.ts';

/**
 * Takes the steps that are still to be taken, each in a transaction of its own. Any number of processes may do this at
 * once: one goes ahead, the others wait and find nothing left to do.
 *
 * @param name of the schema, without quotes; it is created where it is missing.
 * @returns the versions that were applied.
 */
export async function migrate(pool: PgPool, name: string, migrations: readonly PgMigration[]): Promise<number[]> {
  const schema = quote(name);
  try {
    return await withConnection(pool, async (client) => {
      const applied: number[] = [];
      for (;;) {
        await client.query({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' });
        try {
          const next = await takeStep(client, name, migrations);
          await client.query({ text: 'COMMIT' });
          if (next === undefined) return applied;
          applied.push(next);
        } catch (cause) {
          await client.query({ text: 'ROLLBACK' }).catch(() => {}); // a connection that is gone has done it by itself
          throw cause;
        }
      }
    });
  } catch (cause) {
    throw toStoreError(`migrate the schema ${schema}`, cause);
  }
}

/** Within a transaction. @returns the version that was applied, if one was missing. */
async function takeStep(
  client: PgClient,
  name: string,
  migrations: readonly PgMigration[],
): Promise<number | undefined> {
  const schema = quote(name);
  const run = createQuery(client);
  await run({ text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))' }, `intentbook migrations of ${name}`);
  // From here on it must not queue behind a long transaction, or everybody else would queue behind it.
  await run({ text: "SET LOCAL lock_timeout = '5s'" });
  // Looked for first, so that a role may migrate a schema that it could not have created.
  const [exists] = await run({ text: 'SELECT 1 FROM pg_namespace WHERE nspname = $1' }, name);
  if (exists === undefined) await run({ text: `CREATE SCHEMA ${schema}` });
  const [founded] = await run({ text: 'SELECT to_regclass($1) IS NOT NULL' }, `${schema}.migrations`);
  if (founded?.[0] !== true) await client.query({ text: FOUNDATION(schema) });
  const next = missing(await appliedSteps(run, schema), migrations)[0];
  if (next === undefined) return undefined;
  await client.query({ text: next.sql(schema) });
  await run(
    { text: `INSERT INTO ${schema}.migrations (version, name, breaking) VALUES ($1, $2, $3)` },
    next.version,
    next.name,
    next.breaking,
  );
  return next.version;
}

interface AppliedStep {
  readonly version: number;
  readonly name: string;
  readonly breaking: boolean;
}

async function appliedSteps(run: Query, schema: string): Promise<AppliedStep[]> {
  const text = `SELECT version, name, breaking FROM ${schema}.migrations`;
  const rows = await run<readonly [number, string, boolean]>({ text });
  return rows.map(([version, name, breaking]) => ({ version, name, breaking }));
}

/** @throws StoreError `Unsupported` when the steps are those of something else. */
function missing(applied: readonly AppliedStep[], migrations: readonly PgMigration[]): PgMigration[] {
  const foreign = applied.find(({ version, name }) => migrations.some((m) => m.version === version && m.name !== name));
  if (foreign !== undefined) {
    const message = `the schema holds something else: its first steps include "${foreign.name}"; give each store its own`;
    throw new StoreError('Unsupported', message);
  }
  return migrations.filter(({ version }) => !applied.some((step) => step.version === version));
}

/**
 * Looks whether this release can work with the schema, and changes nothing.
 *
 * @param remedy how an older schema is brought up to date.
 * @throws StoreError `SchemaTooOld` naming the remedy, `SchemaTooNew` naming the versions.
 */
export async function assertSchema(
  run: Query,
  name: string,
  migrations: readonly PgMigration[],
  remedy = `run "intentbook migrate --postgres URL --schema ${name}"`,
): Promise<void> {
  const schema = quote(name);
  const [founded] = await run({ text: 'SELECT to_regclass($1) IS NOT NULL' }, `${schema}.migrations`);
  const applied = founded?.[0] === true ? await appliedSteps(run, schema) : [];
  const absent = missing(applied, migrations);
  const newest = Math.max(0, ...applied.map(({ version }) => version));
  const known = migrations.at(-1)?.version ?? 0;
  const tooNew = applied.find(({ version, breaking }) => version > known && breaking);
  if (tooNew !== undefined) {
    throw new StoreError(
      'SchemaTooNew',
      `the schema ${schema} has version ${newest}; this release knows up to version ${known}, and version ` +
        `${tooNew.version} changed what it builds on; use a newer release`,
    );
  }
  if (absent.length > 0) {
    throw new StoreError(
      'SchemaTooOld',
      `the schema ${schema} has version ${newest}, this release needs version ${known}; ${remedy}`,
    );
  }
}

/** Records whose store this is, when nobody has yet, and rejects one of another domain. */
export async function claimDomain({ schema, prepare, read, write }: PostgresSession, domain: Domain): Promise<void> {
  const find = prepare<readonly [number, Domain['settlementContract']]>(
    `SELECT chain_id, settlement_contract FROM ${schema}.domain`,
  );
  const insert = `INSERT INTO ${schema}.domain VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING`;
  const [known] = await read('read its domain', (run) => run(find));
  const [recorded] =
    known === undefined
      ? await write('record its domain', async (run) => {
          await run({ text: insert }, domain.chainId, toBytes(domain.settlementContract));
          return run(find); // somebody else may have been first
        })
      : [known];
  if (recorded === undefined) throw new StoreError('Unavailable', 'the domain of the store cannot be recorded');
  assertSameDomain({ chainId: recorded[0], settlementContract: recorded[1] }, domain);
}

/** An identifier in quotes. The name has been checked to contain none. */
export function quote(name: string): string {
  return `"${name}"`;
}
