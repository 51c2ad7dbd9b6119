import { createHash } from 'node:crypto';
import { type Domain, StoreError } from 'intentbook';
import { assertSameDomain } from 'intentbook/store-kit';
import { type PgClient, type PgPool, TIMEOUTS, toStoreError } from './database-driver.ts';
import { createQuery, type Query, withConnection } from './query.ts';
import { toBytes } from './rows.ts';
import { BASE_SCHEMA, type PgMigration, type PgSchema } from './schema.ts';
import type { PostgresSession } from './session.ts';
import { renderFunction, type SqlFunction } from './sql/function.ts';

/**
 * Applies the missing migrations, each in its own transaction, and replaces functions whose text differs. Several
 * processes may call this at the same time: one migrates, the others wait.
 *
 * @param name - Name of the schema, without quotes. It is created if it does not exist.
 * @returns The versions that were applied.
 * @throws StoreError `SchemaTooNew` or `Unsupported` if this release cannot use the schema afterwards; `Unsupported`
 *   if a migration needs a connection without a pooler.
 */
export async function migrate(pool: PgPool, name: string, definition: PgSchema): Promise<number[]> {
  try {
    return await withConnection(pool, async (connection) => {
      const client: PgClient = { query: (query) => connection.query({ ...query, limit: UNLIMITED }) };
      const applied: number[] = [];
      let prepared: number | undefined;
      await assertVisible(createQuery(client), name, definition);
      try {
        for (;;) {
          const next = await lockAndRun(client, name, (run) => applyNext(client, run, name, definition, prepared ?? 0));
          if (next === undefined) {
            await assertSchema(createQuery(client), name, definition);
            return applied;
          }
          if (next.concurrently === undefined || next.version <= (prepared ?? 0)) applied.push(next.version);
          else if (prepared === undefined) {
            if (!pool.singleConnection) await assertDirect(client, connection.processID, next);
            prepared = 0; // before the wait, in which another process may apply it, and which may fail
            await lockConcurrently(client, name);
          } else {
            for (const text of next.concurrently(quote(name))) await client.query({ text });
            prepared = next.version;
          }
        }
      } finally {
        if (prepared !== undefined) await unlockConcurrently(client, name);
      }
    });
  } catch (cause) {
    throw toStoreError(`migrate the schema ${quote(name)}`, cause);
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

const LOCK_KEY = 'hashtextextended($1, 0)';
const getLockName = (name: string) => `intentbook migrations of ${name}`;

/**
 * Runs `work` in a transaction under the lock of migrations. The wait for the lock holds no transaction: an index that
 * another process creates concurrently would wait for it.
 */
async function lockAndRun<T>(client: PgClient, name: string, work: (run: Query) => Promise<T>): Promise<T> {
  const run = createQuery(client);
  for (;;) {
    try {
      await client.query({ text: BEGIN });
      const [lock] = await run({ text: `SELECT pg_try_advisory_xact_lock(${LOCK_KEY})` }, getLockName(name));
      const result = lock?.[0] === true ? { value: await work(run) } : undefined;
      await client.query({ text: 'COMMIT' });
      if (result !== undefined) return result.value;
    } catch (cause) {
      await client.query({ text: 'ROLLBACK' }).catch(() => {}); // a broken connection has already rolled back
      throw cause;
    }
    await run({ text: 'SELECT pg_sleep(0.1)' });
  }
}

const getConcurrentLockName = (name: string) => `${getLockName(name)}, concurrently`;

/**
 * Takes the lock of statements outside of a transaction. It is held until their migration is recorded: another process
 * would repeat them, and so drop an index that is in use.
 */
async function lockConcurrently(client: PgClient, name: string): Promise<void> {
  const run = createQuery(client);
  await client.query({ text: 'SET statement_timeout = 0' });
  for (;;) {
    const [lock] = await run({ text: `SELECT pg_try_advisory_lock(${LOCK_KEY})` }, getConcurrentLockName(name));
    if (lock?.[0] === true) return;
    await run({ text: 'SELECT pg_sleep(0.1)' });
  }
}

/**
 * A pooler may run the next statement in another session. The lock would stay, and the settings of this one would apply
 * to other clients.
 */
async function assertDirect(client: PgClient, processId: number | undefined, { version }: PgMigration): Promise<void> {
  const [server] = await createQuery(client)({ text: 'SELECT pg_backend_pid()' });
  if (processId === undefined || server?.[0] === processId) return;
  const message = `migration ${version} has statements outside of a transaction; migrate without a connection pooler`;
  throw new StoreError('Unsupported', message);
}

/** A broken connection has freed its locks. */
async function unlockConcurrently(client: PgClient, name: string): Promise<void> {
  const text = `SELECT pg_advisory_unlock(${LOCK_KEY})`;
  await createQuery(client)({ text }, getConcurrentLockName(name)).catch(() => {});
  await client.query({ text: 'RESET statement_timeout' }).catch(() => {});
}

/**
 * Applies the first missing migration, or replaces the functions if none is missing.
 *
 * @param prepared - Version up to which the concurrent statements have run. Those of the next one precede it.
 * @returns the migration that was applied, or that has to be prepared; undefined if none is missing.
 */
async function applyNext(
  client: PgClient,
  run: Query,
  name: string,
  { migrations, functions }: PgSchema,
  prepared: number,
): Promise<PgMigration | undefined> {
  const schema = quote(name);
  // Writes queue behind a migration that waits for a long query. Its limit is half of theirs, so that none fails.
  await run({ text: `SET LOCAL lock_timeout = ${TIMEOUTS.lock / 2}` });
  // Checked first, so that a role may migrate an existing schema without the right to create one.
  const [exists] = await run({ text: 'SELECT 1 FROM pg_namespace WHERE nspname = $1' }, name);
  if (exists === undefined) await run({ text: `CREATE SCHEMA ${schema}` });
  const [initialized] = await run({ text: 'SELECT to_regclass($1) IS NOT NULL' }, `${schema}.migrations`);
  if (initialized?.[0] !== true) await client.query({ text: BASE_SCHEMA(schema) });
  // The first release had no checksums.
  const [hasChecksums] = await run(
    { text: "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = 'checksum'" },
    `${schema}.migrations`,
  );
  if (hasChecksums === undefined) await run({ text: `ALTER TABLE ${schema}.migrations ADD COLUMN checksum text` });
  const applied = await readApplied(run, schema);
  const next = findMissing(applied, migrations)[0];
  if (next === undefined) {
    const expected = functions(schema);
    const different = isNewer(applied, migrations) ? [] : await findDifferentFunctions(run, name, expected);
    const texts = expected.filter((each) => different.includes(each.name)).map((each) => renderFunction(schema, each));
    if (texts.length > 0) await client.query({ text: texts.join('') });
    return undefined;
  }
  if (next.concurrently !== undefined && next.version > prepared) return next;
  await client.query({ text: next.sql(schema) });
  await run(
    { text: `INSERT INTO ${schema}.migrations (version, name, breaking, checksum) VALUES ($1, $2, $3, $4)` },
    next.version,
    next.name,
    next.breaking,
    getMigrationChecksum(next),
  );
  return next;
}

/** Returns the SHA-256 of the statements of a migration, for any schema. */
export function getMigrationChecksum({ sql, concurrently }: PgMigration): string {
  const text = JSON.stringify([sql('schema'), concurrently?.('schema') ?? []]);
  return createHash('sha256').update(text).digest('hex');
}

interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly breaking: boolean;
  /** Null for a migration that a release without checksums has applied. */
  readonly checksum: string | null;
}

async function readApplied(run: Query, schema: string): Promise<AppliedMigration[]> {
  const text = `SELECT version, name, breaking, to_jsonb(m) ->> 'checksum' FROM ${schema}.migrations m`;
  const rows = await run<readonly [number, string, boolean, string | null]>({ text });
  return rows.map(([version, name, breaking, checksum]) => ({ version, name, breaking, checksum }));
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

/** Whether a newer release has migrated the schema. Its functions and indexes are then those of that release. */
const isNewer = (applied: readonly AppliedMigration[], migrations: readonly PgMigration[]) =>
  applied.some(({ version }) => version > (migrations.at(-1)?.version ?? 0));

/**
 * Checks that row-level security applies to no table, because a hidden row looks like a missing one.
 *
 * @throws StoreError `Unsupported` with the tables.
 */
export async function assertVisible(run: Query, name: string, { migrations }: PgSchema): Promise<void> {
  const rows = await run<readonly [name: string]>(
    {
      text:
        'SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) ' +
        'AND row_security_active(oid) ORDER BY relname',
    },
    name,
  );
  if (rows.length === 0) return;
  const own = new Set(['domain', 'migrations', ...getRelations(migrations).map((relation) => relation.name)]);
  const hidden = rows.flatMap(([relname]) => (own.has(relname) ? [relname] : []));
  if (hidden.length === 0) return;
  throw new StoreError(
    'Unsupported',
    `row-level security may hide rows of ${quote(name)} from this user (tables: ${hidden.join(', ')}); disable it, ` +
      'or use a user with BYPASSRLS',
  );
}

/**
 * Checks that this release can use the schema. Changes nothing.
 *
 * @throws StoreError `SchemaTooOld` with the remedy if a migration is missing or a function differs, `SchemaTooNew`
 * with the versions, `Unsupported` if a table or an index is missing, if rows are hidden, or if a migration was applied
 * in another form.
 */
export async function assertSchema(run: Query, name: string, definition: PgSchema): Promise<void> {
  await assertVisible(run, name, definition);
  const { migrations, functions } = definition;
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
  const remedy = definition.getRemedy(name);
  if (absent.length > 0) {
    throw new StoreError(
      'SchemaTooOld',
      `the schema ${schema} has version ${newest}, this release needs version ${supported}; ${remedy}`,
    );
  }
  const changed = applied.find(({ version, checksum }) => {
    const migration = migrations.find((each) => each.version === version);
    return migration !== undefined && checksum !== null && checksum !== getMigrationChecksum(migration);
  });
  if (changed !== undefined) {
    throw new StoreError(
      'Unsupported',
      `the schema ${schema} was created by an unreleased version: its migration ${changed.version} differs; ${REBUILD}`,
    );
  }
  if (isNewer(applied, migrations)) return;
  const missing = await findMissingRelations(run, name, migrations);
  if (missing.length > 0) {
    const names = missing.join(', ');
    throw new StoreError('Unsupported', `the schema ${schema} lacks ${names}, which its version includes; ${REBUILD}`);
  }
  const different = await findDifferentFunctions(run, name, functions(schema));
  if (different.length > 0) {
    const names = different.join(', ');
    throw new StoreError(
      'SchemaTooOld',
      `the schema ${schema} has other functions (${names}) than this release; ${remedy}`,
    );
  }
}

export const REBUILD = 'restore a backup, or export the book and import it into a new schema';

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

/**
 * Returns the names of the functions that a schema lacks, or has with another text or other settings. PostgreSQL stores
 * the text as it was given.
 */
async function findDifferentFunctions(run: Query, name: string, expected: readonly SqlFunction[]): Promise<string[]> {
  const rows = await run<readonly [name: string, body: string, settings: string]>(
    {
      text:
        "SELECT proname, encode(sha256(convert_to(prosrc, 'UTF8')), 'hex'), array_to_string(proconfig, ',') " +
        'FROM pg_proc WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)',
    },
    name,
  );
  const existing = new Set(rows.map(([proname, hash, settings]) => `${proname} ${hash} ${settings ?? ''}`));
  return expected.filter((each) => !existing.has(getSignature(each))).map((each) => each.name);
}

function getSignature({ name, body, settings = {} }: SqlFunction): string {
  const hash = createHash('sha256').update(body).digest('hex');
  const list = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
  return `${name} ${hash} ${list.join()}`;
}

/** Returns the tables and indexes of the migrations that a schema lacks: `the table orders`. */
async function findMissingRelations(run: Query, name: string, migrations: readonly PgMigration[]): Promise<string[]> {
  const rows = await run<readonly [name: string]>(
    { text: 'SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)' },
    name,
  );
  const existing = new Set(rows.map(([relname]) => relname));
  return getRelations(migrations)
    .filter((relation) => !existing.has(relation.name))
    .map((relation) => `the ${relation.kind} ${relation.name}`);
}

const CHANGE =
  /\b(CREATE|DROP)(?: UNIQUE)? (TABLE|INDEX)(?: CONCURRENTLY)?(?: IF (?:NOT )?EXISTS)? (?:schema\.)?(\w+)/g;

/** Returns the tables and indexes that exist after all migrations. */
function getRelations(migrations: readonly PgMigration[]) {
  const relations = new Map<string, { readonly name: string; readonly kind: string }>();
  for (const { sql, concurrently } of migrations) {
    const text = [sql('schema'), ...(concurrently?.('schema') ?? [])].join(';');
    for (const [, action, kind = '', relation = ''] of text.matchAll(CHANGE)) {
      if (action === 'DROP') relations.delete(relation);
      else relations.set(relation, { name: relation, kind: kind.toLowerCase() });
    }
  }
  return [...relations.values()];
}
