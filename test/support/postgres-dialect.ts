import type { PgClient, PgPool, PgPoolClient, PgQuery } from 'intentbook/postgres';
import pg from 'pg';
import { postgresUrl } from './postgres.ts';

/** Statements that databases compatible with PostgreSQL may lack. */
const DENIED = /^\s*(LISTEN|NOTIFY|SAVEPOINT|RELEASE|ROLLBACK TO)\b|\bxmax\b|advisory/i;

/** Functions of the server that such databases may lack. A role without rights cannot call them. */
const DENIED_FUNCTIONS = [
  'pg_notify(text, text)',
  'pg_advisory_lock(bigint)',
  'pg_advisory_xact_lock(bigint)',
  'pg_try_advisory_lock(bigint)',
  'pg_try_advisory_xact_lock(bigint)',
  'pg_xact_status(xid8)',
  'txid_status(bigint)',
];

/** Returns a database whose role cannot call the denied functions. */
export interface RestrictedDatabase extends AsyncDisposable {
  /** For migrations. */
  readonly ownerUrl: string;
  readonly url: string;
  /** Grants the rights on a migrated schema to the role. */
  grant(schema: string): Promise<void>;
}

let created = 0;

export async function createRestrictedDatabase(): Promise<RestrictedDatabase> {
  const name = `dialect_${process.pid}_${++created}`;
  const server = await postgresUrl();
  const toUrl = (user?: string) => {
    const url = new URL(server);
    url.pathname = `/${name}`;
    if (user !== undefined) Object.assign(url, { username: user, password: user });
    return url.href;
  };
  const query = async (url: string, ...statements: readonly string[]) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  };
  await query(server, `CREATE DATABASE ${name}`, `CREATE ROLE ${name} LOGIN PASSWORD '${name}'`);
  await query(toUrl(), ...DENIED_FUNCTIONS.map((each) => `REVOKE EXECUTE ON FUNCTION ${each} FROM PUBLIC`));
  return {
    ownerUrl: toUrl(),
    url: toUrl(name),
    grant: (schema) =>
      query(
        toUrl(),
        `GRANT USAGE ON SCHEMA "${schema}" TO ${name}`,
        `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO ${name}`,
      ),
    [Symbol.asyncDispose]: () => query(server, `DROP DATABASE ${name} WITH (FORCE)`, `DROP ROLE ${name}`),
  };
}

/** What a restricted pool has denied, failed and run. */
export interface DialectCounts {
  denied: string[];
  injected: number;
  attempts: number;
}

/** Returns numbers from 0 to 1. The same seed gives the same numbers (mulberry32). */
export function createNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let n = Math.imul(state ^ (state >>> 15), 1 | state);
    n = (n + Math.imul(n ^ (n >>> 7), 61 | n)) ^ n;
    return ((n ^ (n >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Statements before the one that fails, in an attempt that fails. */
const MAX_POSITION = 5;

/**
 * Wraps a pool. It rejects denied statements, and fails a share of all attempts with a serialization failure (40001) at
 * one of their first statements, or at the commit. A transaction with a failure is rolled back by the server.
 */
export function createRestrictedPool(
  pool: pg.Pool,
  { share, random }: { readonly share: number; readonly random: () => number },
): PgPool & { readonly counts: DialectCounts } {
  const counts: DialectCounts = { denied: [], injected: 0, attempts: 0 };
  const wrapped = new WeakMap<object, PgPoolClient & { begin(): void }>();

  function wrap(client: pg.PoolClient): PgPoolClient & { begin(): void } {
    let left = Number.POSITIVE_INFINITY;
    /** Whether an attempt has ended before the statement that was to fail: the next one fails instead. */
    let owed = false;
    const run = (query: PgQuery) => (client as unknown as PgClient).query(query);
    return {
      begin() {
        counts.attempts++;
        const fails = random() < share;
        left = owed ? 0 : fails ? Math.floor(random() * MAX_POSITION) : Number.POSITIVE_INFINITY;
        owed = false;
      },
      async query(query) {
        if (DENIED.test(query.text)) {
          counts.denied.push(query.text);
          throw Object.assign(new Error(`denied: ${query.text}`), { code: '0A000' });
        }
        const isCommit = query.text === 'COMMIT';
        if (query.text === 'ROLLBACK' || (left > 0 && !(isCommit && Number.isFinite(left)))) {
          left--;
          return run(query);
        }
        left = Number.POSITIVE_INFINITY;
        counts.injected++;
        if (isCommit) await run({ text: 'ROLLBACK' });
        throw Object.assign(new Error('could not serialize access'), { code: '40001' });
      },
      get processID() {
        return (client as unknown as { processID: number }).processID;
      },
      release(error) {
        owed = Number.isFinite(left);
        client.release(error);
      },
      on: (event, listener) => client.on(event as 'error', listener),
      removeListener: (event, listener) => client.removeListener(event, listener),
    } as PgPoolClient & { begin(): void };
  }

  return {
    counts,
    async connect() {
      const client = await pool.connect();
      const known = wrapped.get(client) ?? wrap(client);
      wrapped.set(client, known);
      known.begin();
      return known;
    },
  };
}
