import type { AccountStore, Store } from 'intentbook';
import { assertKnownOptions } from 'intentbook/store-kit';
import { MAX_TIMER, requireFunctions, requireInteger } from '#internal';
import { ACCOUNT_SCHEMA } from './accounts/schema.ts';
import { createPostgresAccountStore } from './accounts/store.ts';
import { assertServer, type PostgresSource, withCommandPool } from './connection.ts';
import { type PgClient, type PgPool, toStoreError } from './database-driver.ts';
import { requestEpoch } from './log-epoch.ts';
import { assertSchema, getMigrationChecksum, migrate, quote, REBUILD } from './migrate.ts';
import { getPglitePool, type PgliteDatabase, type PgliteOptions } from './pglite.ts';
import { createQuery, withConnection } from './query.ts';
import { BASE_SCHEMA, BOOK_SCHEMA, type PgSchema } from './schema.ts';
import { findDrift } from './schema-drift.ts';
import { renderFunction } from './sql/function.ts';
import { createPostgresStore } from './store.ts';

export type { PgClient, PgPool, PgPoolClient, PgQuery } from './database-driver.ts';
export type { PgliteDatabase, PgliteOptions, PgliteQueryOptions, PgliteResult } from './pglite.ts';

/** Default names of the schemas. */
const [BOOK_NAME, ACCOUNTS_NAME] = ['intentbook', 'intentbook_accounts'];

/** Options of every PostgreSQL store. */
export interface PostgresOptions {
  /** Schema of the tables: letters, digits and `_`, at most 40 characters. Default: `intentbook`. */
  readonly schema?: string;
  /**
   * Whether to migrate the schema when the store is opened, which requires a role that may create tables. Without it,
   * an older schema is rejected with `SchemaTooOld`. Default: false.
   */
  readonly migrate?: boolean;
  /**
   * Whether to reject a server that may lose acknowledged writes (`synchronous_commit`, `fsync` or `full_page_writes`
   * off). With false, the store does not report itself as durable. Default: true.
   */
  readonly durable?: boolean;
  /**
   * Whether each connection prepares statements by name. Default: true for direct connections, false behind a pooler.
   */
  readonly prepare?: boolean;
  /**
   * Whether to hold one connection, for all stores of a pool, that listens for events of other processes. Without it,
   * these are found by polling. With false, other processes are not notified either. Default: true for direct
   * connections; behind a pooler, and on a pool with `max: 1`, the store notifies and does not listen.
   */
  readonly listen?: boolean;
  /**
   * Interval of polling the log for events of other processes, in milliseconds. While a connection listens, every fifth
   * one is used. Default: 1000.
   */
  readonly pollInterval?: number;
}

/** Options of a store with its own connections. */
export interface PostgresUrlOptions extends PostgresOptions {
  /** Connection string: `postgres://user:password@host:5432/database`. */
  readonly url: string;
  /** Connection string for reads, of a streaming replica of the same database. */
  readonly readUrl?: string;
  /**
   * Maximum number of connections to each of the two servers. The stores of a process with the same URL share them,
   * and use the largest of their values. Default: 10.
   */
  readonly connections?: number;
}

/** Options of a store on a pool of the host. */
export interface PostgresPoolOptions extends PostgresOptions {
  /** Pool for reads, of streaming replicas of the same database. */
  readonly readPool?: PgPool;
}

/**
 * Creates a store in a PostgreSQL database (14 or later), for any number of processes. Requires the package pg, which
 * is loaded when the store is opened.
 *
 * @example
 * const book = createOrderBook({ store: postgresStore({ url: 'postgres://localhost/books' }), ... });
 */
export function postgresStore(options: PostgresUrlOptions): Store;
/**
 * Creates a store on a node-postgres pool of the host, which the store never ends. An insert that receives a client of
 * the host as `transaction` joins the transaction that is open on it.
 */
export function postgresStore(pool: PgPool, options?: PostgresPoolOptions): Store;
export function postgresStore(target: PostgresUrlOptions | PgPool, options: PostgresPoolOptions = {}): Store {
  if (isPool('postgresStore', target)) {
    assertKnownOptions('postgresStore', options, [...COMMON, 'readPool']);
    const { readPool } = options;
    const source = { kind: 'pool', pool: target, ...(readPool === undefined ? {} : { readPool }) } as const;
    return createPostgresStore(source, parseSettings('postgresStore', options, BOOK_NAME));
  }
  assertKnownOptions('postgresStore', target, [...COMMON, 'url', 'readUrl', 'connections']);
  const { readUrl } = target;
  const source = parseUrlSource('postgresStore', target);
  if (readUrl !== undefined) assertConnectionString('postgresStore: `readUrl`', readUrl);
  return createPostgresStore(
    { ...source, ...(readUrl === undefined ? {} : { readUrl }) },
    parseSettings('postgresStore', target, BOOK_NAME),
  );
}

/**
 * Creates a store in a PGlite database, which is PostgreSQL in this process: for tests of applications that use
 * PostgreSQL. It migrates the schema, is not durable, and has one connection, so inserts cannot join a transaction of
 * the host. Requires the package `@electric-sql/pglite`; the store never closes the database.
 *
 * @example
 * const book = createOrderBook({ store: pgliteStore(await PGlite.create()), ... });
 */
export function pgliteStore(database: PgliteDatabase, options: PgliteOptions = {}): Store {
  assertKnownOptions('pgliteStore', options, ['schema']);
  requireFunctions('pgliteStore: database', database, ['query', 'exec']);
  const settings = parseSettings('pgliteStore', { ...options, ...PGLITE }, BOOK_NAME);
  return createPostgresStore({ kind: 'pool', pool: getPglitePool(database) }, settings);
}

/** Creates an account store in a PGlite database. See `pgliteStore`. */
export function pgliteAccountStore(database: PgliteDatabase, options: PgliteOptions = {}): AccountStore {
  assertKnownOptions('pgliteAccountStore', options, ['schema']);
  requireFunctions('pgliteAccountStore: database', database, ['query', 'exec']);
  const settings = parseSettings('pgliteAccountStore', { ...options, ...PGLITE }, ACCOUNTS_NAME);
  return createPostgresAccountStore({ kind: 'pool', pool: getPglitePool(database) }, settings);
}

/** The database is new in each test, and in memory: its server does not write files before a commit. */
const PGLITE = { migrate: true, durable: false } as const;

/** Options of an account store with its own connections. */
export type PostgresAccountOptions = Omit<PostgresUrlOptions, 'readUrl'>;

/**
 * Creates an account store in a PostgreSQL database (14 or later), for any number of processes. It has its own schema,
 * by default `intentbook_accounts`: one for all books, each of which has another schema.
 *
 * @example
 * const accounts = createAccounts({ books, store: postgresAccountStore({ url: 'postgres://localhost/books' }), ... });
 */
export function postgresAccountStore(options: PostgresAccountOptions): AccountStore;
/** Creates an account store on a node-postgres pool of the host, which the store never ends. */
export function postgresAccountStore(pool: PgPool, options?: PostgresOptions): AccountStore;
export function postgresAccountStore(
  target: PostgresAccountOptions | PgPool,
  options: PostgresOptions = {},
): AccountStore {
  if (isPool('postgresAccountStore', target)) {
    assertKnownOptions('postgresAccountStore', options, COMMON);
    return createPostgresAccountStore(
      { kind: 'pool', pool: target },
      parseSettings('postgresAccountStore', options, ACCOUNTS_NAME),
    );
  }
  assertKnownOptions('postgresAccountStore', target, [...COMMON, 'url', 'connections']);
  const source = parseUrlSource('postgresAccountStore', target);
  return createPostgresAccountStore(source, parseSettings('postgresAccountStore', target, ACCOUNTS_NAME));
}

/** Returns whether the host passed a pool. @throws TypeError for a value that is neither a pool nor options. */
function isPool(where: string, target: object): target is PgPool {
  if ('connectionString' in Object(target))
    throw new TypeError(`${where}: unknown option "connectionString", use "url"`);
  if (typeof target === 'object' && target !== null) return 'connect' in target;
  // The value is not rendered: a connection string contains a password.
  throw new TypeError(
    `${where}: options must be { url: "postgres://…" } or a pool of pg, got ${target === null ? null : typeof target}`,
  );
}

function parseUrlSource(
  where: string,
  { url, connections = 10 }: { readonly url: string; readonly connections?: number },
) {
  assertConnectionString(`${where}: \`url\``, url);
  // One connection listens, so at least one more is needed.
  requireInteger(`${where}: \`connections\``, connections, 2, MAX_TIMER);
  return { kind: 'url', url, connections } as const satisfies PostgresSource;
}

function assertConnectionString(option: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${option} must be a connection string`);
}

const COMMON = ['schema', 'migrate', 'durable', 'prepare', 'listen', 'pollInterval'] as const;

function parseSettings(where: string, options: PostgresOptions, defaultSchema: string) {
  const {
    schema = defaultSchema,
    migrate = false,
    durable = true,
    prepare: named,
    listen,
    pollInterval = 1000,
  } = options;
  requireInteger(`${where}: \`pollInterval\``, pollInterval, 10, MAX_TIMER);
  return { schema: parseSchemaName(where, schema), migrate, durable, named, listen, pollInterval };
}

/** Validates a schema name, which becomes part of SQL text. */
function parseSchemaName(where: string, schema: string): string {
  if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/i.test(schema)) return schema;
  const rule = 'must be letters, digits and "_", not beginning with a digit or "pg_"';
  throw new TypeError(`${where}: \`schema\` ${rule}`);
}

/** One step of a schema as SQL. */
export interface SchemaStep {
  /** Version of the migration. That of `functions` is the newest one. */
  readonly version: number;
  readonly name: string;
  /** Whether releases that do not include this migration reject the schema once it is applied. */
  readonly breaking: boolean;
  /** Whether the step is run again after each update of the package, after all others: the functions. */
  readonly repeatable: boolean;
  /** The locks that the step takes, and what they delay. */
  readonly locks: string;
  /** Statements to run first, each outside of a transaction. */
  readonly concurrently: readonly string[];
  /** SQL statements, including the one that records a migration. They must run in one transaction. */
  readonly sql: string;
}

/** Selects a schema: of a book (default name `intentbook`), or of the account interface (`intentbook_accounts`). */
export interface SchemaOptions {
  readonly schema?: string;
  readonly of?: 'book' | 'accounts';
}

const getDefinition = ({ of }: SchemaOptions): PgSchema => (of === 'accounts' ? ACCOUNT_SCHEMA : BOOK_SCHEMA);

/** Returns the name of the selected schema. */
function parseSchema(where: string, { schema, of }: SchemaOptions): string {
  if (of !== undefined && of !== 'book' && of !== 'accounts') {
    throw new TypeError(`${where}: \`of\` must be "book" or "accounts", got ${JSON.stringify(of)}`);
  }
  return parseSchemaName(where, schema ?? (of === 'accounts' ? ACCOUNTS_NAME : BOOK_NAME));
}

/** Returns the steps of a schema as plain SQL, in order, for use with other migration tools. */
export function postgresMigrations(options: SchemaOptions = {}): SchemaStep[] {
  assertKnownOptions('postgresMigrations', options, ['schema', 'of']);
  const schema = quote(parseSchema('postgresMigrations', options));
  const { migrations, functions } = getDefinition(options);
  const steps = migrations.map((migration): SchemaStep => {
    const { version, name, breaking, locks, sql, concurrently } = migration;
    const values = `${version}, '${name}', ${breaking}, '${getMigrationChecksum(migration)}'`;
    return {
      version,
      name,
      breaking,
      repeatable: false,
      locks,
      concurrently: concurrently?.(schema) ?? [],
      sql:
        `${version === 1 ? `CREATE SCHEMA IF NOT EXISTS ${schema};\n${BASE_SCHEMA(schema)}` : ''}${sql(schema)}` +
        `\nALTER TABLE ${schema}.migrations ADD COLUMN IF NOT EXISTS checksum text;` +
        `\nINSERT INTO ${schema}.migrations (version, name, breaking, checksum) VALUES (${values});\n`,
    };
  });
  const sql = functions(schema).map((each) => renderFunction(schema, each));
  if (sql.length === 0) return steps;
  const { version = 0 } = migrations.at(-1) ?? {};
  const locks = 'none: calls that run keep the previous text';
  return [
    ...steps,
    { version, name: 'functions', breaking: false, repeatable: true, locks, concurrently: [], sql: sql.join('') },
  ];
}

/**
 * Migrates a schema to the newest version and creates it if it does not exist. Several processes may call this at the
 * same time.
 *
 * @returns The versions that this call applied.
 */
export async function migratePostgres(options: SchemaOptions & { readonly url: string }): Promise<number[]> {
  assertKnownOptions('migratePostgres', options, ['url', 'schema', 'of']);
  assertConnectionString('migratePostgres: `url`', options.url);
  const schema = parseSchema('migratePostgres', options);
  return withCommandPool(options.url, (pool) => migrate(pool, schema, getDefinition(options)));
}

/**
 * Compares a server and a schema with what this release needs. Changes nothing.
 *
 * @returns one line for each problem, with what differs and the remedy. Empty if a store can be opened.
 */
export async function checkPostgres(options: SchemaOptions & { readonly url: string }): Promise<string[]> {
  assertKnownOptions('checkPostgres', options, ['url', 'schema', 'of']);
  assertConnectionString('checkPostgres: `url`', options.url);
  const name = parseSchema('checkPostgres', options);
  const definition = getDefinition(options);
  const check = async (client: PgClient): Promise<string[]> => {
    await assertServer(client, { durable: true, isOwnPool: false });
    await assertSchema(createQuery(client), name, definition);
    const differences = await findDrift(client, name, definition);
    return differences.length === 0
      ? []
      : [`the schema ${quote(name)} was altered: ${differences.join('; ')}; ${REBUILD}`];
  };
  try {
    return await withCommandPool(options.url, (pool) => withConnection(pool, check));
  } catch (cause) {
    return [toStoreError('check the schema', cause).message];
  }
}

/**
 * Makes the next log entry of a book, or of the accounts, begin a new log epoch. Readers that may have seen entries
 * which the database lacks then receive a gap. For a database that was restored from a snapshot of its disk, which the
 * store cannot detect. Running processes need no restart.
 */
export async function beginPostgresLogEpoch(options: SchemaOptions & { readonly url: string }): Promise<void> {
  assertKnownOptions('beginPostgresLogEpoch', options, ['url', 'schema', 'of']);
  assertConnectionString('beginPostgresLogEpoch: `url`', options.url);
  const schema = quote(parseSchema('beginPostgresLogEpoch', options));
  const text = requestEpoch(schema, options.of ?? 'book');
  await withCommandPool(options.url, (pool) => withConnection(pool, (client) => createQuery(client)({ text }))).catch(
    (cause: unknown) => {
      throw toStoreError('begin a log epoch', cause);
    },
  );
}
