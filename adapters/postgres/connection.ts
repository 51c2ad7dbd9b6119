import { StoreError } from 'intentbook';
import {
  createPool,
  ignoreBrokenConnections,
  type OwnPool,
  type PgClient,
  type PgPool,
  POOL_NAME,
} from './database-driver.ts';
import { createQuery } from './query.ts';

/** Source of connections: a URL, or a pool of the host. */
export type PostgresSource =
  | {
      readonly kind: 'url';
      readonly url: string;
      readonly readUrl?: string;
      readonly connections: number;
    }
  | { readonly kind: 'pool'; readonly pool: PgPool; readonly readPool?: PgPool };

/** Open pools. */
export interface PostgresConnection {
  readonly pool: PgPool;
  readonly readPool: PgPool | undefined;
  /** Ends the store's own pools. */
  disconnect(): Promise<void>;
}

/**
 * Pools by connection string, and the numbers of stores that use them. The stores of a process share one, and thus one
 * connection that listens: otherwise the connections would grow with the number of books, and use up those of the
 * server.
 */
const shared = new Map<string, { readonly pool: Promise<OwnPool>; users: number }>();

/** Returns the pool of a connection string with at least a number of connections, and a function that leaves it. */
async function sharePool(url: string, connections: number) {
  const entry = shared.get(url) ?? { pool: createPool(url, connections), users: 0 };
  shared.set(url, entry);
  entry.users++;
  const leave = async () => {
    if (--entry.users > 0) return;
    if (shared.get(url) === entry) shared.delete(url);
    await (await entry.pool).end();
  };
  try {
    const pool = await entry.pool;
    pool.grow(connections);
    return { pool, leave };
  } catch (cause) {
    await leave().catch(() => {}); // there is no pool
    throw cause;
  }
}

export async function connectPostgres(source: PostgresSource): Promise<PostgresConnection> {
  if (source.kind === 'pool') {
    const { pool, readPool } = source;
    for (const each of [pool, readPool]) if (each !== undefined) ignoreBrokenConnections(each);
    return { pool, readPool, disconnect: async () => {} };
  }
  const { url, readUrl, connections } = source;
  const primary = await sharePool(url, connections);
  const replica = readUrl === undefined ? undefined : await sharePool(readUrl, connections);
  return {
    pool: primary.pool,
    readPool: replica?.pool,
    disconnect: async () => void (await Promise.all([primary.leave(), replica?.leave()])),
  };
}

/** Runs work on the pool of a command, which no other one shares. Its statements have no limit of time. */
export async function withCommandPool<T>(url: string, work: (pool: PgPool) => Promise<T>): Promise<T> {
  const pool = await createPool(url, 2, false);
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

const SERVER = {
  text:
    "SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(), current_setting('server_encoding'), " +
    "current_setting('bytea_output'), current_setting('synchronous_commit'), current_setting('fsync'), " +
    "current_setting('full_page_writes'), current_setting('synchronous_standby_names'), " +
    "current_setting('default_transaction_isolation'), pg_backend_pid(), version(), " +
    "EXISTS (SELECT FROM pg_extension WHERE extname = 'citus'), current_setting($1), " +
    "current_setting('session_replication_role'), current_setting('client_min_messages')",
};

/**
 * The number of connections that the role may open, and the names of the pools of all processes. Each pool names its
 * maximum in the name of its sessions.
 */
const CONNECTIONS = {
  text:
    "SELECT least(current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer " +
    "- coalesce(current_setting('reserved_connections', true)::integer, 0), " +
    '(SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = session_user), ' +
    '(SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())), ' +
    `(SELECT string_agg(DISTINCT application_name, ',') FROM pg_stat_activity WHERE application_name LIKE '${POOL_NAME} %')`,
};

type Server = readonly [
  version: number,
  standby: boolean,
  encoding: string,
  byteaOutput: string,
  synchronousCommit: string,
  fsync: string,
  fullPageWrites: string,
  standbys: string,
  isolation: string,
  processId: number,
  product: string,
  hasCitus: boolean,
  arrayNulls: string,
  replicationRole: string,
  leastMessages: string,
];

/** Engines with the protocol of PostgreSQL that distribute rows over servers. */
const DISTRIBUTED = /CockroachDB|-YB-|Greenplum|Redshift/;

/** Properties of the connections to a server that determine how statements run. */
export interface ConnectionTraits {
  /** Whether a connection is one session. Behind a pooler, its process id is not that of the server. */
  readonly direct: boolean;
  /** Whether statements outside a transaction run with another isolation level than READ COMMITTED. */
  readonly strict: boolean;
}

/** What a store requires of a server. */
export interface ServerRequirements {
  /** Whether acknowledged writes must survive a crash. */
  readonly durable: boolean;
  /** Whether the connections are those of the store, whose number is then checked. */
  readonly isOwnPool: boolean;
}

/**
 * Checks that the server can keep the store's guarantees, and returns properties of its connections.
 *
 * @throws StoreError `Unsupported` with the reason, `Unavailable` if the server is a standby.
 */
export async function assertServer(
  client: PgClient,
  { durable, isOwnPool }: ServerRequirements,
): Promise<ConnectionTraits> {
  // With a parameter, because node-postgres reads the result of a statement without any in text format.
  const [server] = await createQuery(client)<Server>(SERVER, 'array_nulls');
  if (server === undefined) throw new StoreError('Unavailable', 'the server returned no settings');
  const [version, standby, encoding, byteaOutput, commit, fsync, fullPageWrites, standbys, isolation, processId] =
    server;
  if (Number.isNaN(version)) {
    throw new StoreError('Unsupported', 'the pool reads values in binary format; create it without binary: true');
  }
  const engine = server[11] ? 'Citus' : DISTRIBUTED.exec(server[10])?.[0].replace('-YB-', 'YugabyteDB');
  if (engine !== undefined) {
    throw new StoreError(
      'Unsupported',
      `the server is ${engine}, whose snapshots are not those of one server: events would be lost; use PostgreSQL`,
    );
  }
  if (version < 140_000) {
    const name = `${Math.floor(version / 10_000)}.${version % 10_000}`;
    throw createError(`version ${name}, and 14 is the oldest that is supported`);
  }
  if (standby) throw new StoreError('Unavailable', 'the server is a standby: it cannot be written to');
  if (encoding !== 'UTF8') throw createError(`the encoding ${encoding}, which cannot store every document; use UTF8`);
  if (byteaOutput !== 'hex') throw createError(`bytea_output = ${byteaOutput}, and the store reads hex`);
  if (server[12] === 'off') throw createError('array_nulls = off, and the store writes arrays with NULL; set it to on');
  if (server[13] === 'replica') {
    throw createError('session_replication_role = replica, which disables the triggers that list deliveries');
  }
  if (durable) {
    const settings = { synchronous_commit: commit, fsync, full_page_writes: fullPageWrites };
    assertDurable(settings, standbys, server[14]);
  }
  const direct = client.processID === undefined || client.processID === processId;
  // A pooler lends few sessions to many connections.
  if (direct && isOwnPool) await assertConnections(client);
  return {
    direct,
    strict: isolation !== 'read committed',
  };
}

/** @throws StoreError `Unsupported` if the pools of all processes together exceed the connections of the server. */
async function assertConnections(client: PgClient): Promise<void> {
  const [row] = await createQuery(client)<readonly [allowed: number, names: string | null]>(CONNECTIONS);
  const [allowed = 0, names = null] = row ?? [];
  const pools = new Map<string, number>();
  for (const name of names?.split(',') ?? []) {
    const [, maximum = '0', id = ''] = name.split(' ');
    pools.set(id, Math.max(Number(maximum), pools.get(id) ?? 0));
  }
  const sum = [...pools.values()].reduce((total, each) => total + each, 0);
  if (sum <= allowed) return;
  throw createError(
    `${allowed} connections for this role, but ${pools.size === 1 ? 'this process' : `${pools.size} processes`} may open ` +
      `${sum}; reduce \`connections\`, raise max_connections, or use a pooler`,
  );
}

function assertDurable(settings: Readonly<Record<string, string>>, standbys: string, leastMessages: string): void {
  for (const [name, value] of Object.entries(settings)) {
    if (value !== 'off') continue;
    throw createError(
      `${name} = off, so it may lose acknowledged writes; enable it, or accept this with durable: false`,
    );
  }
  if (standbys !== '' && settings['synchronous_commit'] === 'local') {
    throw createError(
      'synchronous_commit = local, so a commit does not wait for the synchronous standby; set it to on, or accept this ' +
        'with durable: false',
    );
  }
  if (standbys !== '' && leastMessages === 'error') {
    throw createError(
      'client_min_messages = error, which hides that the synchronous standby has not confirmed a commit; set it to ' +
        'warning, or accept this with durable: false',
    );
  }
}

const createError = (property: string) => new StoreError('Unsupported', `the server has ${property}`);
