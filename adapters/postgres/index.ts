import type { AccountStore, Store } from 'intentbook';
import { assertKnownOptions } from 'intentbook/store-kit';
import { ACCOUNT_MIGRATIONS } from './accounts/schema.ts';
import { createPostgresAccountStore } from './accounts/store.ts';
import type { PostgresSource } from './connection.ts';
import { connectPostgres } from './connection.ts';
import type { PgPool } from './driver.ts';
import { migrate, quote } from './migrate.ts';
import { FOUNDATION, MIGRATIONS } from './schema.ts';
import { createPostgresStore } from './store.ts';

export type { PgClient, PgPool, PgPoolClient, PgQuery } from './driver.ts';

/** What every PostgreSQL store can be told. */
export interface PostgresOptions {
  /** The schema of its tables: letters, digits, `_`, at most 40. `intentbook` unless given. */
  readonly schema?: string;
  /**
   * Whether to bring the schema up to date when the store is opened, which takes a role that may create tables. Unless
   * it is set, an older schema is rejected with `SchemaTooOld`.
   */
  readonly migrate?: boolean;
  /**
   * Whether to reject a server that may lose what it has acknowledged (`synchronous_commit`, `fsync` or
   * `full_page_writes` off). True unless given; with false the store does not call itself durable.
   */
  readonly durable?: boolean;
  /**
   * Whether statements are prepared by name, once a connection. Turn it off behind a pooler that changes connections
   * between transactions and does not track prepared statements.
   */
  readonly prepare?: boolean;
  /**
   * Whether to hold one connection that listens for events of other processes. Without it they are found by looking.
   * Turn it off behind a pooler that changes connections between transactions.
   */
  readonly listen?: boolean;
  /** How often the log is looked at although nothing was heard, in milliseconds. 1000 unless given. */
  readonly pollInterval?: number;
}

/** A store with connections of its own. */
export interface PostgresUrlOptions extends PostgresOptions {
  /** A connection string: `postgres://user:password@host:5432/database`. */
  readonly url: string;
  /** A connection string for reads, to a streaming copy of the same database. */
  readonly readUrl?: string;
  /** How many connections it opens at most, to each of the two. 10 unless given. */
  readonly connections?: number;
}

/** A store on the connections of a host. */
export interface PostgresPoolOptions extends PostgresOptions {
  /** A pool for reads, to streaming copies of the same database. */
  readonly readPool?: PgPool;
}

/**
 * A store in a PostgreSQL database (14 or later), for any number of processes. Needs the package pg, which is loaded
 * when the store is opened.
 *
 * @example
 * const book = createOrderBook({ store: postgresStore({ url: 'postgres://localhost/books' }), ... });
 */
export function postgresStore(options: PostgresUrlOptions): Store;
/**
 * A store on a host's own pool of node-postgres, which it never ends. An insert that is given a client of the host's
 * as `transaction` joins the transaction that is open on it.
 */
export function postgresStore(pool: PgPool, options?: PostgresPoolOptions): Store;
export function postgresStore(where: PostgresUrlOptions | PgPool, options: PostgresPoolOptions = {}): Store {
  if ('connect' in where) {
    assertKnownOptions('postgresStore', options, [...COMMON, 'readPool']);
    const { readPool } = options;
    const source = { kind: 'pool', pool: where, ...(readPool === undefined ? {} : { readPool }) } as const;
    return createPostgresStore(source, parseSettings(options, 'intentbook'), MIGRATIONS);
  }
  assertKnownOptions('postgresStore', where, [...COMMON, 'url', 'readUrl', 'connections']);
  const { readUrl } = where;
  const source = urlSource(where);
  if (readUrl !== undefined) connectionString('readUrl', readUrl);
  return createPostgresStore(
    { ...source, ...(readUrl === undefined ? {} : { readUrl }) },
    parseSettings(where, 'intentbook'),
    MIGRATIONS,
  );
}

/** An account store with connections of its own. */
export type PostgresAccountOptions = Omit<PostgresUrlOptions, 'readUrl'>;

/**
 * An account store in a PostgreSQL database (14 or later), for any number of processes. Its schema is its own,
 * `intentbook_accounts` unless given: one for all books, which have theirs.
 *
 * @example
 * const accounts = createAccounts({ books, store: postgresAccountStore({ url: 'postgres://localhost/books' }), ... });
 */
export function postgresAccountStore(options: PostgresAccountOptions): AccountStore;
/** An account store on a host's own pool of node-postgres, which it never ends. */
export function postgresAccountStore(pool: PgPool, options?: PostgresOptions): AccountStore;
export function postgresAccountStore(
  where: PostgresAccountOptions | PgPool,
  options: PostgresOptions = {},
): AccountStore {
  if ('connect' in where) {
    assertKnownOptions('postgresAccountStore', options, COMMON);
    return createPostgresAccountStore({ kind: 'pool', pool: where }, parseSettings(options, 'intentbook_accounts'));
  }
  assertKnownOptions('postgresAccountStore', where, [...COMMON, 'url', 'connections']);
  return createPostgresAccountStore(urlSource(where), parseSettings(where, 'intentbook_accounts'));
}

function urlSource({ url, connections = 10 }: { readonly url: string; readonly connections?: number }) {
  connectionString('url', url);
  // One listens, and one has to be left for the work.
  wholeNumber('connections', connections, 2);
  return { kind: 'url', url, connections } as const satisfies PostgresSource;
}

function connectionString(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') {
    throw new TypeError(`postgresStore: \`${name}\` must be a connection string`);
  }
}

const COMMON = ['schema', 'migrate', 'durable', 'prepare', 'listen', 'pollInterval'] as const;

function parseSettings(options: PostgresOptions, itsSchema: string) {
  const {
    schema = itsSchema,
    migrate = false,
    durable = true,
    prepare = true,
    listen = true,
    pollInterval = 1000,
  } = options;
  wholeNumber('pollInterval', pollInterval, 10);
  return { schema: schemaName(schema), migrate, durable, named: prepare, listen, pollEvery: pollInterval };
}

function wholeNumber(name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least && value < 2 ** 31) return;
  throw new TypeError(`postgresStore: \`${name}\` must be a whole number of at least ${least}`);
}

/** It becomes part of names in SQL. */
function schemaName(schema: string): string {
  if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/i.test(schema)) return schema;
  throw new TypeError('postgresStore: `schema` must be letters, digits and "_", not beginning with a digit or "pg_"');
}

/** A step of the schema, as it is applied. */
export interface SchemaStep {
  readonly version: number;
  readonly name: string;
  /** Whether releases that do not know this step reject the schema once it is applied. */
  readonly breaking: boolean;
  /** Statements, among them the one that records the step. To be run in one transaction. */
  readonly sql: string;
}

/** Which schema: a book's (`intentbook` unless named), or that of the account interface (`intentbook_accounts`). */
export interface SchemaOptions {
  readonly schema?: string;
  readonly of?: 'book' | 'accounts';
}

const toSchemaSteps = ({ of }: SchemaOptions) => (of === 'accounts' ? ACCOUNT_MIGRATIONS : MIGRATIONS);
const schemaOf = ({ of }: SchemaOptions) => (of === 'accounts' ? 'intentbook_accounts' : 'intentbook');

/** The steps of a schema as plain SQL, in their order, for those who apply them by other means. */
export function postgresMigrations(options: SchemaOptions = {}): SchemaStep[] {
  assertKnownOptions('postgresMigrations', options, ['schema', 'of']);
  const schema = quote(schemaName(options.schema ?? schemaOf(options)));
  return toSchemaSteps(options).map(({ version, name, breaking, sql }) => ({
    version,
    name,
    breaking,
    sql:
      `${version === 1 ? `CREATE SCHEMA IF NOT EXISTS ${schema};\n${FOUNDATION(schema)}` : ''}${sql(schema)}` +
      `\nINSERT INTO ${schema}.migrations (version, name, breaking) VALUES (${version}, '${name}', ${breaking});\n`,
  }));
}

/**
 * Brings a schema up to date and creates it where it is missing. Safe when several processes do it at once.
 *
 * @returns the versions that were applied by this call.
 */
export async function migratePostgres(options: SchemaOptions & { readonly url: string }): Promise<number[]> {
  assertKnownOptions('migratePostgres', options, ['url', 'schema', 'of']);
  const schema = schemaName(options.schema ?? schemaOf(options));
  const { pool, disconnect } = await connectPostgres({ kind: 'url', url: options.url, connections: 2 });
  try {
    return await migrate(pool, schema, toSchemaSteps(options));
  } finally {
    await disconnect();
  }
}
