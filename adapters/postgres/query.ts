import { StoreError } from 'intentbook';
import { getErrorCode, type PgClient, type PgPool, type PgPoolClient, TIMEOUTS } from './database-driver.ts';
import { TYPES } from './rows.ts';

/** Statement with the type of its rows. Default: rows are arrays in the order of the columns. */
export interface Statement<Row = readonly unknown[]> {
  readonly text: string;
  readonly name?: string;
  /** `undefined` for rows that are objects with the names of the columns. */
  readonly rowMode?: undefined;
  /** Only for type inference: no statement contains a row. */
  readonly row?: Row;
}

/** Runs statements, on any connection or on that of an open transaction. */
export type Query = <Row = readonly unknown[]>(
  statement: Statement<Row>,
  ...values: readonly unknown[]
) => Promise<Row[]>;

/** Thrown if a commit was sent and the server did not report its outcome. */
export class CommitOutcomeUnknown extends Error {
  override readonly name = 'CommitOutcomeUnknown';
  /** The process of the session that ran it, if it is known. */
  readonly processId: number | undefined;

  constructor(processId: number | undefined, cause: unknown) {
    super('the outcome of a commit is unknown', { cause });
    this.processId = processId;
  }
}

/**
 * Takes a connection of a pool. Pools of the host wait for a free connection without a limit by default.
 *
 * @throws StoreError `Unavailable` if none becomes free in time.
 */
export async function connect(pool: PgPool): Promise<PgPoolClient> {
  const connecting = pool.connect();
  const limit = pool.options?.connectionTimeoutMillis ?? 0;
  if (pool.singleConnection) return connecting;
  const reported = connecting.catch((cause) => {
    throw isUsedUp(pool) && QUEUE_TIMEOUT.test(String(cause)) ? toDryError(pool, limit || TIMEOUTS.connect) : cause;
  });
  if (limit > 0) return reported;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(toDryError(pool, TIMEOUTS.connect));
      connecting.then(
        (client) => client.release(),
        () => {},
      );
    }, TIMEOUTS.connect);
  });
  return Promise.race([reported, late]).finally(() => clearTimeout(timer));
}

/** The message of `pg` about a request that waited for a lent connection, not for the server. */
const QUEUE_TIMEOUT = /timeout exceeded when trying to connect/;

/** Whether all connections of a pool are lent: the failure to get one does not concern the server. */
function isUsedUp({ options, totalCount = 0, idleCount = 0 }: PgPool): boolean {
  return idleCount === 0 && totalCount >= Number(options?.max);
}

function toDryError(pool: PgPool, limit: number): StoreError {
  const { options } = pool;
  const name = 'grow' in pool ? 'connections' : 'max'; // of a pool of the store, or of the host
  const advice = Number(options?.max) < 3 ? '; one listens, and a transaction needs one: set it to 3 or more' : '';
  const max = options?.max === undefined ? '' : `, all ${options.max} are in use (option ${name})${advice}`;
  const message = `the PostgreSQL store has no connection: the pool had none free for ${limit} ms${max}`;
  return new StoreError('Unavailable', message);
}

/** Runs `work` with a connection of the pool. After an error that may affect later statements, it is closed. */
export async function withConnection<T>(pool: PgPool, work: (client: PgPoolClient) => Promise<T>): Promise<T> {
  const client = await connect(pool);
  // A connection that breaks while idle emits an error event, which must not end the process.
  client.on?.('error', ignore);
  let broken: Error | undefined;
  try {
    return await work(client);
  } catch (cause) {
    if (!isReusable(cause)) broken = cause instanceof Error ? cause : new Error('the driver failed');
    throw cause;
  } finally {
    client.removeListener?.('error', ignore);
    client.release(broken);
  }
}

const ignore = () => {};

/**
 * Runs work that commits, and detects a commit that is complete on this server, but not on the synchronous standby: its
 * wait was cancelled, which the server reports as a warning.
 */
export async function observeReplication<T>(client: PgClient, work: () => Promise<T>): Promise<T> {
  let cancelled = false;
  const onNotice = (notice: unknown) => {
    const { routine } = notice as { readonly routine?: string }; // as the driver documents it
    cancelled ||= routine === 'SyncRepWaitForLSN';
  };
  client.on?.('notice', onNotice);
  try {
    const result = await work();
    if (cancelled) throw new CommitOutcomeUnknown(undefined, new Error('a standby did not confirm the commit'));
    return result;
  } finally {
    client.removeListener?.('notice', onNotice);
  }
}

/**
 * Returns whether an error is a response of the server to a statement, which therefore has no effect. The codes of the
 * server and the system differ by their first letter.
 */
export function isServerError(cause: unknown): boolean {
  if (cause instanceof StoreError) return true;
  const code = getErrorCode(cause);
  if (code === undefined || !/^[0-9FHPX][0-9A-Z]{4}$/.test(code) || /^(08|57P|25P0[345])/.test(code)) return false;
  return !(FAILURE_OF_SERVER.test(code) && isFatal(cause));
}

/** Codes of a full disk or memory, of a failure of the disk, and of an internal error. */
const FAILURE_OF_SERVER = /^(53[12]|58|XX|F0)/;

/**
 * Returns whether the session, or the server, ends after an error, for example because the log of the server cannot be
 * written. The record of the commit may be on disk, and is then restored. The name of the severity may be translated.
 */
const isFatal = (cause: unknown) => {
  const { severity = 'ERROR' } = cause as { readonly severity?: string };
  return severity !== 'ERROR';
};

/** Codes of a server that is read-only, or that does not know a prepared statement. */
const UNSUITABLE = /^(25006|0A000|55000|26000|42P05)$/;

/** Returns whether a connection can be used again after an error. One that leads to a read-only server cannot. */
function isReusable(cause: unknown): boolean {
  return isServerError(cause) && !UNSUITABLE.test(getErrorCode(cause) ?? '');
}

/** @param limit - Maximum duration of a statement in milliseconds. Default: that of a request. */
export function createQuery(client: PgClient, limit?: number): Query {
  const options = { rowMode: 'array', types: TYPES, ...(limit === undefined ? {} : { limit }) } as const;
  return async (statement, ...values) => {
    const { rows } = await client.query({ ...options, ...statement, values });
    return rows as never; // the selected columns, as the type of the statement declares
  };
}

/** Casts the result of several statements: the driver returns a list, which its types do not declare. */
export function toResults(results: unknown) {
  return results as readonly { readonly rows: readonly unknown[] }[];
}
