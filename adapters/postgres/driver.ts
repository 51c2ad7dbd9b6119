import { StoreError } from 'intentbook';

/**
 * Statement of node-postgres. The server binds the values. With a name, each connection prepares the statement once.
 */
export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
  readonly rowMode?: 'array';
  readonly types?: { getTypeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown };
}

/** Connection: the part of node-postgres's `Client` that the store uses. */
export interface PgClient {
  query(query: PgQuery): Promise<{ readonly rows: unknown[] }>;
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

/** Pool: the part of node-postgres's `Pool` that the store uses. */
export interface PgPool {
  connect(): Promise<PgPoolClient>;
}

/** Pool that the store owns. */
export interface OwnPool extends PgPool {
  end(): Promise<void>;
}

/** Options of a pool that the store owns. */
export interface PoolSettings {
  /** Maximum number of connections. */
  readonly connections: number;
}

/** Creates a pool with node-postgres, which is loaded on the first call. */
export async function createPool(url: string, { connections }: PoolSettings): Promise<OwnPool> {
  const driver = await import('pg').catch((cause: unknown) => {
    throw new StoreError('Unavailable', 'postgresStore requires the package pg: npm install pg', { cause });
  });
  try {
    const pool = new driver.default.Pool({
      connectionString: url,
      max: connections,
      // An unresponsive server must not block a caller forever.
      connectionTimeoutMillis: 10_000,
      query_timeout: 60_000,
      keepAlive: true,
      allowExitOnIdle: true,
    });
    // Emitted when an idle connection breaks. The pool removes it and opens another one for the next request.
    pool.on('error', () => {});
    return pool as unknown as OwnPool; // its overloads of `query` accept more than the store needs
  } catch (cause) {
    throw toStoreError('read the connection string', cause);
  }
}

/** Meaning of the server's error codes for an operator. The first matching prefix is used. */
const MEANINGS: readonly (readonly [code: string, meaning: string])[] = [
  ['08', 'the connection failed'],
  ['22', 'a value does not fit the schema'],
  ['23', 'a value does not fit the schema'],
  ['25006', 'the server is read-only'],
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
  ['ENOTFOUND', 'the host name of the server cannot be resolved'],
  ['ETIMEDOUT', 'the server does not respond'],
];

/** Converts a thrown value to a `StoreError`. Its message contains no SQL and no address. */
export function toStoreError(operation: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  return new StoreError('Unavailable', `the PostgreSQL store cannot ${operation}: ${getMeaning(cause)}`, { cause });
}

function getMeaning(cause: unknown): string {
  const code = getErrorCode(cause);
  if (code === undefined) return 'the connection failed';
  const entry = MEANINGS.find(([prefix]) => code.startsWith(prefix));
  return entry === undefined ? `the server returned the error ${code}` : `${entry[1]} (${code})`;
}

/** Returns the error code of the server or the system, if the error has one. */
export function getErrorCode(cause: unknown): string | undefined {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}
