import { StoreError } from 'intentbook';
import type { OwnPool, PgClient, PgPool } from './database-driver.ts';
import { createPool } from './database-driver.ts';
import { createQuery } from './query.ts';

/** Source of connections: a URL, or a pool of the host. */
export type PostgresSource =
  | {
      readonly kind: 'url';
      readonly url: string;
      readonly readUrl?: string;
      readonly connections: number;
      readonly limited?: boolean;
    }
  | { readonly kind: 'pool'; readonly pool: PgPool; readonly readPool?: PgPool };

/** Open pools. */
export interface PostgresConnection {
  readonly pool: PgPool;
  readonly readPool: PgPool | undefined;
  /** Ends the store's own pools. */
  disconnect(): Promise<void>;
}

export async function connectPostgres(source: PostgresSource): Promise<PostgresConnection> {
  if (source.kind === 'pool') return { pool: source.pool, readPool: source.readPool, disconnect: async () => {} };
  const { url, readUrl, connections, limited = true } = source;
  const pool = await createPool(url, { connections, limited });
  let readPool: OwnPool | undefined;
  if (readUrl !== undefined) readPool = await createPool(readUrl, { connections });
  return {
    pool,
    readPool,
    disconnect: async () => void (await Promise.all([pool.end(), readPool?.end()])),
  };
}

const SERVER = {
  text:
    "SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(), current_setting('server_encoding'), " +
    "current_setting('bytea_output'), current_setting('synchronous_commit'), current_setting('fsync'), " +
    "current_setting('full_page_writes'), current_setting('synchronous_standby_names'), " +
    "current_setting('default_transaction_isolation'), pg_backend_pid(), version(), " +
    "EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')",
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

/**
 * Checks that the server can keep the store's guarantees, and returns properties of its connections.
 *
 * @throws StoreError `Unsupported` with the reason, `Unavailable` if the server is a standby.
 */
export async function assertServer(client: PgClient, durable: boolean): Promise<ConnectionTraits> {
  const [server] = await createQuery(client)<Server>(SERVER);
  if (server === undefined) throw new StoreError('Unavailable', 'the server returned no settings');
  const [version, standby, encoding, byteaOutput, commit, fsync, fullPageWrites, standbys, isolation, processId] =
    server;
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
  if (durable) assertDurable({ synchronous_commit: commit, fsync, full_page_writes: fullPageWrites }, standbys);
  return {
    direct: client.processID === undefined || client.processID === processId,
    strict: isolation !== 'read committed',
  };
}

function assertDurable(settings: Readonly<Record<string, string>>, standbys: string): void {
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
}

const createError = (property: string) => new StoreError('Unsupported', `the server has ${property}`);
