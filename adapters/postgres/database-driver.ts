import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { types } from 'node:util';
import { StoreError } from 'intentbook';
import type { PoolConfig } from 'pg';
import { describePackageFailure } from '#internal';

/**
 * Statement of node-postgres. The server binds the values. With a name, each connection prepares the statement once.
 */
export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
  /** Form of the rows. Absent: objects with a member per column, as node-postgres returns them. */
  readonly rowMode?: 'array' | undefined;
  /** Duration after which the store's own driver requests the cancellation, in milliseconds. */
  readonly limit?: number;
  readonly types?: { getTypeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown };
}

/** Connection: the part of node-postgres's `Client` that the store uses. */
export interface PgClient {
  query(query: PgQuery): Promise<{ readonly rows: unknown[] }>;
  /** Process id that the server, or a pooler, has assigned to the connection. */
  readonly processID?: number;
  on?(event: string, listener: (argument: unknown) => void): unknown;
  removeListener?(event: string, listener: (argument: unknown) => void): unknown;
}

/** Connection of a pool. */
export interface PgPoolClient extends PgClient {
  /** Returns the connection to the pool; with an error, the pool closes it. */
  release(error?: Error | boolean): void;
  /** Allows the process to exit while the connection is open. */
  unref?(): void;
}

/** Connection of the store's own driver. */
interface DriverClient extends PgPoolClient {
  readonly secretKey?: number | Buffer;
  readonly host?: string;
  readonly port?: number;
  readonly connection?: { readonly stream: { destroy(): unknown } };
}

/** Pool: the part of node-postgres's `Pool` that the store uses. */
export interface PgPool {
  connect(): Promise<PgPoolClient>;
  /**
   * Whether the pool has only one connection. While a transaction of the host is open on it, every call of the store
   * waits, so inserts cannot join that transaction. Default: false.
   */
  readonly singleConnection?: boolean;
  /** The options of a pool of node-postgres. With `max: 1`, no connection listens. */
  readonly options?: { readonly max?: number | undefined; readonly connectionTimeoutMillis?: number | undefined };
  /** Numbers of open connections and of those that are not lent, of a pool of node-postgres. */
  readonly totalCount?: number;
  readonly idleCount?: number;
  on?(event: string, listener: (argument: unknown) => void): unknown;
}

export interface OwnPool extends PgPool {
  /** Raises the maximum number of connections, if it is lower. */
  grow(connections: number): void;
  end(): Promise<void>;
}

/**
 * Time limits, in milliseconds. Those of the server are shorter than those of the client, so that the server reports
 * the outcome. A request that waits for a connection, and then for a lock, fails within 10 seconds.
 */
export const TIMEOUTS = {
  /** Wait for a connection. */
  connect: 4000,
  /** Wait for a lock. */
  lock: 4000,
  /** Duration of a statement. */
  statement: 5000,
  /** Duration of a statement in a transaction of a worker, such as the indexer. */
  workerStatement: 30_000,
  /** Pause of the client within a transaction, after which the server ends the session and frees its locks. */
  idle: 4000,
  /** Interval at which the server checks that the client of a running statement is still connected. */
  connectionCheck: 1000,
  /** Duration of a statement after which the client requests its cancellation. */
  cancel: 6000,
  /** The same, from the request of the connection on: it includes the wait for it, and failed attempts. */
  request: 9000,
  /** Time until the server has to respond to the cancellation. */
  cancelled: 1000,
} as const;

/**
 * Begins a request of a connection.
 *
 * @returns A function that returns the time in milliseconds after which a statement is cancelled, so that the caller
 * receives a result within 10 seconds. The timer of a statement runs in real time, and so does this one: a manual clock
 * may advance during a statement.
 */
export function startRequest(): () => number {
  const since = performance.now();
  return () => Math.max(Math.min(TIMEOUTS.cancel, Math.floor(TIMEOUTS.request - (performance.now() - since))), 1);
}

/** Settings of a session, as the server names them. */
const SESSION_SETTINGS = {
  lock_timeout: TIMEOUTS.lock,
  statement_timeout: TIMEOUTS.statement,
  idle_in_transaction_session_timeout: TIMEOUTS.idle,
  default_transaction_isolation: "'read committed'",
  // A statement reads few rows. Its compilation takes longer than its execution.
  jit: "'off'",
} as const;

/** SQL for the limits of one transaction. */
export const LOCAL_LIMITS =
  `SET LOCAL lock_timeout = ${TIMEOUTS.lock}; SET LOCAL statement_timeout = ${TIMEOUTS.workerStatement}; ` +
  `SET LOCAL idle_in_transaction_session_timeout = ${TIMEOUTS.idle}`;

/** First word of the name of a pool's sessions. Its maximum and a random number follow. */
export const POOL_NAME = 'intentbook';

/**
 * Creates a pool with node-postgres, which is loaded on the first call.
 *
 * @param connections - Maximum number of connections.
 * @param limited - Whether to limit the duration of statements. Migrations have no limit.
 */
export async function createPool(url: string, connections: number, limited = true): Promise<OwnPool> {
  const driver = await import('pg').catch((cause: unknown) => {
    throw new StoreError('Unavailable', describePackageFailure('postgresStore', 'pg', cause), { cause });
  });
  try {
    const id = randomUUID().slice(0, 8);
    const nameSessions = (maximum: number) => `${POOL_NAME} ${maximum} ${id}`;
    const pool = new driver.default.Pool({
      connectionString: url,
      max: connections,
      application_name: nameSessions(connections),
      connectionTimeoutMillis: TIMEOUTS.connect,
      keepAlive: true,
      allowExitOnIdle: true,
    } satisfies PoolConfig);
    ignoreBrokenConnections(pool);
    let lent = 0;
    pool.on('acquire', () => lent++);
    pool.on('release', () => lent--);
    return {
      get options() {
        return { max: pool.options.max };
      },
      /** Without the connections that are idle or being opened. A server that does not respond uses up no pool. */
      get totalCount() {
        return lent;
      },
      async connect() {
        const getLimit = startRequest();
        const client = (await pool.connect()) as unknown as DriverClient; // the part that the store uses
        return limited ? (limitedClients.get(client) ?? limitClient(client, getLimit)) : client;
      },
      grow(wanted) {
        if (wanted <= pool.options.max) return;
        // The pool reads its options when it opens a connection.
        Object.assign(pool.options, { max: wanted, application_name: nameSessions(wanted) });
      },
      end: () => pool.end(),
    };
  } catch (cause) {
    throw toStoreError('read the connection string', cause);
  }
}

const ignore = () => {};

/** Pools that ignore broken connections. */
const tolerant = new WeakSet<object>();

/**
 * Keeps a broken connection from ending the process. A pool removes it and opens another one for the next request, and
 * its running statement rejects.
 */
export function ignoreBrokenConnections(pool: Pick<PgPool, 'on'>): void {
  if (tolerant.has(pool)) return;
  tolerant.add(pool);
  pool.on?.('error', ignore); // the connection was idle
  // Before the pool lends a connection: the server can end it in the same packet in which it accepts it.
  pool.on?.('connect', (client) => void (client as PgClient).on?.('error', ignore));
}

/**
 * Limits a new connection. The hook `verify` of the pool could do it, but the pool has no time limit for it, and loses
 * the connection if the caller's wait ends meanwhile.
 */
async function limitClient(client: DriverClient, getLimit: () => number): Promise<PgPoolClient> {
  try {
    const limited = limitStatements(client);
    await limitSession(limited, getLimit);
    limitedClients.set(client, limited);
    return limited;
  } catch (cause) {
    client.release(true);
    throw cause;
  }
}

const limitedClients = new WeakMap<PgPoolClient, PgPoolClient>();

/**
 * Sets the limits of a session, unless a pooler lends it to other clients too: then the process id of the server
 * differs from that of the connection.
 */
async function limitSession(client: PgClient, getLimit: () => number): Promise<void> {
  const settings = Object.entries(SESSION_SETTINGS).map(
    ([name, value]) => `set_config('${name}', ${quoteText(value)}, false)`,
  );
  const direct = `pg_backend_pid() = ${Number(client.processID ?? 0)}`;
  const queries = [settings, [`set_config('client_connection_check_interval', '${TIMEOUTS.connectionCheck}', false)`]];
  // The second fails on platforms that cannot check a connection.
  for (const calls of queries) {
    const query = { text: `SELECT ${calls.join()} WHERE ${direct}`, limit: getLimit() };
    await client.query(query).catch((cause: unknown) => {
      if (!UNSUPPORTED_SETTING.test(getErrorCode(cause) ?? '')) throw cause;
    });
  }
}

/** Codes of a server that lacks a setting, or that does not accept its value. */
const UNSUPPORTED_SETTING = /^(0A|22|42)/;

const quoteText = (value: number | string) => (typeof value === 'number' ? `'${value}'` : value);

/** Returns a connection on which a statement that takes too long is cancelled. */
function limitStatements(client: DriverClient): PgPoolClient {
  let isCancelled = false;
  const cancel = () => {
    isCancelled = true;
    requestCancellation(client);
  };
  return {
    query: limitQuery(client, cancel),
    on: (event, listener) => client.on?.(event, listener),
    removeListener: (event, listener) => client.removeListener?.(event, listener),
    // The request may arrive after the end of the statement, and would then cancel that of the next caller.
    release: (error) => client.release(error ?? isCancelled),
    unref: () => client.unref?.(),
    ...(client.processID === undefined ? {} : { processID: client.processID }),
  };
}

function limitQuery(client: DriverClient, cancel: () => void): PgPoolClient['query'] {
  return async (query) => {
    let timer = setTimeout(() => {
      cancel();
      // Without a response, the connection is unusable; the query fails when it is closed.
      timer = setTimeout(() => client.connection?.stream.destroy(), TIMEOUTS.cancelled);
    }, query.limit ?? TIMEOUTS.cancel);
    try {
      return await client.query(query);
    } finally {
      clearTimeout(timer);
    }
  };
}

/**
 * Requests that the server cancels the running statement, on a connection without a session. The server then reports
 * whether a commit that waits for a standby is complete.
 */
function requestCancellation({ processID, secretKey, host, port }: DriverClient): void {
  if (processID === undefined || secretKey === undefined || host === undefined || host.startsWith('/')) return;
  const key = Buffer.isBuffer(secretKey) ? secretKey : toInt32(secretKey);
  const request = Buffer.concat([toInt32(12 + key.length), toInt32(CANCEL_REQUEST), toInt32(processID), key]);
  const socket = connect({ host, port: port ?? 5432, timeout: TIMEOUTS.request });
  socket.on('error', ignore).on('timeout', () => socket.destroy());
  // Not ended here: PgBouncer ends when the client of a cancellation leaves first. The server closes the connection.
  socket.on('close', ignore).unref().write(request);
}

function toInt32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
}

const CANCEL_REQUEST = (1234 << 16) | 5678;

/** Meaning of the server's error codes for an operator. The first matching prefix is used. */
const MEANINGS: readonly (readonly [code: string, meaning: string])[] = [
  ['08', 'the connection failed'],
  ['22', 'a value does not fit the schema'],
  ['23', 'a value does not fit the schema'],
  ['25P03', 'the server ended the session, because the transaction was idle'],
  ['25006', 'the server or the transaction is read-only'],
  ['25P02', 'an earlier statement of the transaction has failed, so it must be rolled back'],
  ['28', 'the server rejects this user'],
  ['3D000', 'the database does not exist'],
  ['3F000', 'the schema is missing'],
  ['40', 'conflicts with other writers persisted after retries'],
  ['42501', 'this user lacks a required privilege'],
  ['42P01', 'a table is missing'],
  ['53100', 'the disk of the server is full'],
  ['53300', 'the server has no connection left'],
  ['53', 'the server is short of resources'],
  ['55P03', 'another transaction held its lock for too long'],
  ['57014', 'the server cancelled it, or it took too long'],
  ['57P03', 'the server is starting up'],
  ['57', 'the server is shutting down'],
  ['XX', 'the server found damaged data'],
  ['ECONN', 'the server cannot be reached'],
  ['ENOENT', 'a file that the connection string names does not exist'],
  ['ERR_INVALID_URL', 'the connection string is not a URL; encode "#", "/" and "?" in its password'],
  ['ENOTFOUND', 'the host name of the server cannot be resolved'],
  ['ETIMEDOUT', 'the server does not respond'],
];

/** Meaning of messages of `pg`, which have no code. */
const MESSAGES: readonly (readonly [message: RegExp, meaning: string])[] = [
  [/after calling end on the pool/, 'the pool has ended; close the book first'],
  [/client password must be a/, 'the server requires a password'],
  [/server does not support SSL/, 'the server has no TLS, which the connection string requires'],
];

/** Converts a thrown value to a `StoreError`. Its message contains no SQL and no address. */
export function toStoreError(operation: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  const code = /^2[23]/.test(getErrorCode(cause) ?? '') ? 'InvalidValue' : 'Unavailable';
  return new StoreError(code, `the PostgreSQL store cannot ${operation}: ${getMeaning(cause)}`, { cause });
}

function getMeaning(cause: unknown): string {
  const code = getErrorCode(cause);
  if (code === undefined) return MESSAGES.find(([text]) => text.test(String(cause)))?.[1] ?? 'the connection failed';
  const entry = MEANINGS.find(([prefix]) => code.startsWith(prefix));
  if (entry !== undefined) return `${entry[1]} (${code})`;
  // Codes of the system and of TLS: `EPIPE`, `CERT_HAS_EXPIRED`.
  return /^E[A-Z]|_/.test(code) ? `the connection failed (${code})` : `the server returned the error ${code}`;
}

/**
 * Returns the error code of the server or the system, if the error has one. Errors of Node.js are of another realm for
 * code that Jest runs.
 */
export function getErrorCode(cause: unknown): string | undefined {
  return types.isNativeError(cause) && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}
