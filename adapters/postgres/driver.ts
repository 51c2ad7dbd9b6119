import { StoreError } from 'intentbook';

/** A statement as node-postgres takes it. Values are bound by the server; with a name it is prepared once a connection. */
export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
  readonly rowMode?: 'array';
  readonly types?: { getTypeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown };
}

/** What this store asks of a connection: the part of node-postgres's `Client` that it uses. */
export interface PgClient {
  query(query: PgQuery): Promise<{ readonly rows: unknown[] }>;
  on?(event: string, listener: (argument: unknown) => void): unknown;
  removeListener?(event: string, listener: (argument: unknown) => void): unknown;
}

/** A connection that a pool has lent. */
export interface PgPoolClient extends PgClient {
  /** Gives it back; with an error, the pool throws it away. */
  release(error?: Error | boolean): void;
  /** Lets the process end although the connection is open. */
  unref?(): void;
}

/** What this store asks of a pool: the part of node-postgres's `Pool` that it uses. */
export interface PgPool {
  connect(): Promise<PgPoolClient>;
}

/** A pool of the store's own. */
export interface OwnPool extends PgPool {
  end(): Promise<void>;
}

/** How a pool of the store's own is made. */
export interface PoolSettings {
  /** How many connections it opens at most. */
  readonly connections: number;
}

/** Makes a pool through node-postgres, which is loaded when it is first needed only. */
export async function createPool(url: string, { connections }: PoolSettings): Promise<OwnPool> {
  const driver = await import('pg').catch((cause: unknown) => {
    throw new StoreError('Unavailable', 'postgresStore needs the package pg; install it beside intentbook', { cause });
  });
  try {
    const pool = new driver.default.Pool({
      connectionString: url,
      max: connections,
      // A server that does not answer must not hold a caller forever.
      connectionTimeoutMillis: 10_000,
      query_timeout: 60_000,
      keepAlive: true,
      allowExitOnIdle: true,
    });
    // Of an idle connection that broke. The pool has thrown it away; whoever asks next gets another.
    pool.on('error', () => {});
    return pool as unknown as OwnPool; // its overloads of `query` take more than this store asks for
  } catch (cause) {
    throw toStoreError('read the connection string', cause);
  }
}

/** What the server's codes mean to whoever runs the book. The first that the code starts with is taken. */
const MEANINGS: readonly (readonly [code: string, meaning: string])[] = [
  ['08', 'the connection failed'],
  ['22', 'a value does not fit the schema'],
  ['23', 'a value does not fit the schema'],
  ['25006', 'the server is read-only'],
  ['28', 'the server rejects this user'],
  ['3D000', 'there is no such database'],
  ['3F000', 'the schema is missing'],
  ['40', 'it was in the way of another writer, too often'],
  ['42501', 'this user lacks a right that it needs'],
  ['42P01', 'a table is missing'],
  ['53100', 'the disk of the server is full'],
  ['53300', 'the server has no connection left'],
  ['53', 'the server is short of resources'],
  ['55P03', 'another transaction holds its lock for too long'],
  ['57014', 'the server cancelled it, or it took too long'],
  ['57P03', 'the server is starting up'],
  ['57', 'the server is shutting down'],
  ['XX', 'the server found its data damaged'],
  ['ECONN', 'the server cannot be reached'],
  ['ENOTFOUND', 'the name of the server is not known'],
  ['ETIMEDOUT', 'the server does not answer'],
];

/** Makes of whatever the driver threw the one kind of error that a store throws. It carries no SQL and no address. */
export function toStoreError(doing: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  return new StoreError('Unavailable', `the PostgreSQL store cannot ${doing}: ${meaning(cause)}`, { cause });
}

function meaning(cause: unknown): string {
  const code = codeOf(cause);
  if (code === undefined) return 'the connection failed';
  const known = MEANINGS.find(([prefix]) => code.startsWith(prefix));
  return known === undefined ? `the server answered ${code}` : `${known[1]} (${code})`;
}

/** The server's or the system's code of an error, if it has one. */
export function codeOf(cause: unknown): string | undefined {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}
