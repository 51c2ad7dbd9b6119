import { StoreError } from 'intentbook';
import type { PgClient, PgPool, PgPoolClient } from './driver.ts';
import { getErrorCode } from './driver.ts';
import { TYPES } from './rows.ts';

/** Statement with the type of its rows. Rows are arrays in the order of the columns. */
export interface Statement<Row extends readonly unknown[] = readonly unknown[]> {
  readonly text: string;
  readonly name?: string;
  /** Only for type inference: no statement contains a row. */
  readonly row?: Row;
}

/** Runs statements, on any connection or on that of an open transaction. */
export type Query = <Row extends readonly unknown[]>(
  statement: Statement<Row>,
  ...values: readonly unknown[]
) => Promise<readonly Row[]>;

/** Thrown to run a transaction again although the server reported no conflict. */
export class RetryTransaction extends Error {
  override readonly name = 'RetryTransaction';
}

/** Runs `work` with a connection of the pool. After any error that is not an SQL error, the connection is closed. */
export async function withConnection<T>(pool: PgPool, work: (client: PgPoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // A connection that breaks while idle emits an error event, which must not end the process.
  client.on?.('error', ignore);
  let broken: Error | undefined;
  try {
    return await work(client);
  } catch (cause) {
    if (!isServerError(cause)) broken = cause instanceof Error ? cause : new Error('the driver failed');
    throw cause;
  } finally {
    client.removeListener?.('error', ignore);
    client.release(broken);
  }
}

const ignore = () => {};

/**
 * Returns whether an error is an SQL error of the server, after which the connection can still be used. The codes of
 * the server and the system differ by their first letter.
 */
export function isServerError(cause: unknown): boolean {
  if (cause instanceof StoreError || cause instanceof RetryTransaction) return true;
  const code = getErrorCode(cause);
  return code !== undefined && /^[0-9FHPX][0-9A-Z]{4}$/.test(code) && !/^(08|57P|25P0[345])/.test(code);
}

export function createQuery(client: PgClient): Query {
  return async (statement, ...values) => {
    const { rows } = await client.query({ ...statement, values, rowMode: 'array', types: TYPES });
    return rows as never; // arrays of the selected columns, as the type of the statement declares
  };
}

/** Casts the result of several statements: the driver returns a list, which its types do not declare. */
export function toResults(results: unknown) {
  return results as readonly { readonly rows: readonly unknown[]; readonly rowCount: number | null }[];
}
