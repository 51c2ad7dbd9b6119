import { StoreError } from 'intentbook';
import type { PgClient, PgPool, PgPoolClient } from './driver.ts';
import { codeOf } from './driver.ts';
import { TYPES } from './rows.ts';

/** A statement with the shape of its rows. Rows are arrays, in the order of the columns. */
export interface Statement<Row extends readonly unknown[] = readonly unknown[]> {
  readonly text: string;
  readonly name?: string;
  /** Only for the compiler: no statement carries a row. */
  readonly row?: Row;
}

/** Runs statements: on any connection, or on the one that a transaction is open on. */
export type Query = <Row extends readonly unknown[]>(
  statement: Statement<Row>,
  ...values: readonly unknown[]
) => Promise<readonly Row[]>;

/** A transaction that has to be run again, though the server found nothing wrong with it. */
export class RetryTransaction extends Error {
  override readonly name = 'Collision';
}

/** Lends a connection for as long as `work` runs. One that failed in any way but a rejection by the server is thrown away. */
export async function withConnection<T>(pool: PgPool, work: (client: PgPoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // A lent connection that breaks while it is not being asked says so by an event, which must not end the process.
  client.on?.('error', swallow);
  let broken: Error | undefined;
  try {
    return await work(client);
  } catch (cause) {
    if (!isAnswer(cause)) broken = cause instanceof Error ? cause : new Error('the driver failed');
    throw cause;
  } finally {
    client.removeListener?.('error', swallow);
    client.release(broken);
  }
}

const swallow = () => {};

/** Whether an error is the server's own (its codes differ from the system's by their first letter), after which the connection is as good as before. */
export function isAnswer(cause: unknown): boolean {
  if (cause instanceof StoreError || cause instanceof RetryTransaction) return true;
  const code = codeOf(cause);
  return code !== undefined && /^[0-9FHPX][0-9A-Z]{4}$/.test(code) && !/^(08|57P|25P0[345])/.test(code);
}

export function createQuery(client: PgClient): Query {
  return async (statement, ...values) => {
    const { rows } = await client.query({ ...statement, values, rowMode: 'array', types: TYPES });
    return rows as never; // arrays of the columns selected, as the statement's type says
  };
}

/** The driver answers with a list when there are several statements, which its types do not say. */
export function resultsOf(results: unknown) {
  return results as readonly { readonly rows: readonly unknown[]; readonly rowCount: number | null }[];
}
