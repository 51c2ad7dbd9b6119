import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { inject } from 'vitest';

let address: Promise<string> | undefined;

/** Returns the server of the test run: `DATABASE_URL`, or an own one. */
export function postgresUrl(): Promise<string> {
  address ??= startServer();
  return address;
}

async function startServer(): Promise<string> {
  const given = process.env['DATABASE_URL'];
  if (given !== undefined) return given;
  const answer = await text(connect(inject('postgresPort'), '127.0.0.1'));
  if (!answer.startsWith('postgres://')) throw new Error(`there is no PostgreSQL server: ${answer}`);
  return answer;
}

/** A schema for a test. It does not exist before the test creates it. */
export interface TemporarySchema extends AsyncDisposable {
  readonly url: string;
  readonly schema: string;
  /** Runs SQL as the superuser in a new session. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Connections that the stores of a test share: the first statements of a session take most of its time. */
  readonly pool: pg.Pool;
}

/** Runs SQL and returns the rows of its last statement. */
export interface Sql {
  query(text: string): Promise<{ readonly rows: Record<string, unknown>[] }>;
}

/** Deletes all rows of a store, which is ten times as fast as new tables. */
export async function emptySchema({
  schema,
  pool,
}: Pick<TemporarySchema, 'schema'> & { readonly pool: Sql }): Promise<void> {
  const tables = [
    'domain',
    'orders',
    'fills',
    'tombstones',
    'owners',
    'documents',
    'events',
    'log',
    'log_epochs',
    'leases',
    'quotes',
    'chain_events',
    'first_trades',
    'blocks',
    'auctions',
    'competitions',
    'tasks',
  ];
  const { rows } = await pool.query(
    `SELECT relname AS tablename FROM pg_class WHERE relnamespace = '"${schema}"'::regnamespace
       AND relkind = 'r'`,
  );
  const expected = [...tables, 'log_lock', 'progress', 'migrations'].sort();
  const names = rows.map(({ tablename }) => tablename).sort();
  if (names.join() !== expected.join()) throw new Error(`a table is not known here: ${names}`);
  const deletions = tables.map((table) => `DELETE FROM "${schema}".${table}`);
  const resets = [
    `UPDATE "${schema}".progress SET number = NULL, hash = NULL`,
    `UPDATE "${schema}".log_lock SET pruned_through = 0`,
  ];
  await pool.query([...deletions, ...resets].join('; '));
}

let made = 0;

export async function temporarySchema(server?: string): Promise<TemporarySchema> {
  const url = server ?? (await postgresUrl());
  const schema = `test_${process.pid}_${++made}`;
  const query = async (sql: string, values: unknown[] = []) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(sql, values)).rows as Record<string, unknown>[]; // rows are objects by default
    } finally {
      await client.end();
    }
  };
  const pool = new pg.Pool({ connectionString: url, max: 12, allowExitOnIdle: true });
  pool.on('error', () => {}); // the next query connects again
  return {
    url,
    schema,
    query,
    pool,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    },
  };
}

/** Creates a separate database: the command line gives the schemas fixed names. */
export async function temporaryDatabase() {
  const { url, query, schema: name } = await temporarySchema();
  await query(`CREATE DATABASE "${name}"`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return {
    url: own.href,
    [Symbol.asyncDispose]: async () => void (await query(`DROP DATABASE "${name}" WITH (FORCE)`)),
  };
}

/** Runs work in a transaction of the host. */
export async function runTransaction(client: pg.ClientBase, work: (transaction: unknown) => Promise<void>) {
  await client.query('BEGIN');
  try {
    await work(client);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}
