import { createHash } from 'node:crypto';
import { StoreError } from 'intentbook';
import type { PgClient, PgPool, PgPoolClient } from './driver.ts';
import { codeOf, fault } from './driver.ts';
import { TYPES } from './rows.ts';

/** A statement with the shape of its rows. Rows are arrays, in the order of the columns. */
export interface Statement<Row extends readonly unknown[] = readonly unknown[]> {
  readonly text: string;
  readonly name?: string;
  /** Only for the compiler: no statement carries a row. */
  readonly row?: Row;
}

/** Runs statements: on any connection, or on the one that a transaction is open on. */
export type Run = <Row extends readonly unknown[]>(
  statement: Statement<Row>,
  ...values: readonly unknown[]
) => Promise<readonly Row[]>;

/** How the nouns of the store reach the database. */
export interface Session {
  /** The schema as SQL writes it: an identifier in quotes. */
  readonly schema: string;
  /** A statement that each connection prepares when it first runs it. */
  prepare<Row extends readonly unknown[]>(text: string): Statement<Row>;
  /** Runs one statement, or a few, without a transaction around them. */
  read<T>(doing: string, work: (run: Run) => Promise<T>): Promise<T>;
  /** Runs `work` in a durable transaction of its own. It runs again when another writer was in its way. */
  write<T>(doing: string, work: (run: Run) => Promise<T>): Promise<T>;
  /**
   * Runs statements without values in one round trip and one durable transaction. It runs again when another writer was
   * in its way.
   *
   * @returns how many rows each statement has touched.
   */
  script(doing: string, texts: readonly string[]): Promise<number[]>;
  /** Runs `work` inside the transaction that the host has open on a client. All of it is undone when it fails. */
  join<T>(doing: string, transaction: unknown, work: (run: Run) => Promise<T>): Promise<T>;
}

/** A transaction that has to be run again, though the server found nothing wrong with it. */
export class Collision extends Error {
  override readonly name = 'Collision';
}

/** How often a transaction is run again. Nothing of the runs before has been acknowledged to anybody. */
const ATTEMPTS = 10;

export interface SessionSettings {
  readonly schema: string;
  /** Whether statements are prepared by name. Not where something between us and the server changes connections. */
  readonly named: boolean;
}

export function openSession(pool: PgPool, { schema, named }: SessionSettings, commit = plainCommit): Session {
  const statements = new Map<string, Statement>();

  async function again<T>(doing: string, work: (client: PgClient) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await lend(pool, work);
      } catch (cause) {
        if (attempt === ATTEMPTS || !mayRunAgain(cause)) throw fault(doing, cause);
      }
    }
  }

  return {
    schema,
    prepare(text) {
      const known = statements.get(text) ?? (named ? { text, name: nameOf(text) } : { text });
      statements.set(text, known);
      return known as Statement<never>; // of whatever rows the caller knows it to have
    },
    async read(doing, work) {
      try {
        return await lend(pool, (client) => work(runOn(client)));
      } catch (cause) {
        throw fault(doing, cause);
      }
    },
    write: (doing, work) => again(doing, (client) => transact(client, work, commit)),
    script: (doing, texts) => again(doing, (client) => runScript(client, texts)),
    async join(doing, transaction, work) {
      if (!isClient(transaction)) {
        throw new StoreError('Unsupported', '`transaction` must be the client of node-postgres that it is open on');
      }
      try {
        return await within(transaction, work);
      } catch (cause) {
        throw fault(doing, cause);
      }
    },
  };
}

/** How a transaction is committed. */
export type Commit = (client: PgClient) => Promise<void>;

const plainCommit: Commit = async (client) => {
  await client.query({ text: 'COMMIT' });
};

/** Lends a connection for as long as `work` runs. One that failed in any way but a refusal by the server is thrown away. */
export async function lend<T>(pool: PgPool, work: (client: PgPoolClient) => Promise<T>): Promise<T> {
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

/** Whether an error is the server's own, after which the connection is as good as before. */
function isAnswer(cause: unknown): boolean {
  if (cause instanceof StoreError || cause instanceof Collision) return true;
  const code = codeOf(cause);
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('57P') && !code.startsWith('08');
}

export function runOn(client: PgClient): Run {
  return async (statement, ...values) => {
    const { rows } = await client.query({ ...statement, values, rowMode: 'array', types: TYPES });
    return rows as never; // arrays of the columns selected, as the statement's type says
  };
}

/** READ COMMITTED, whatever the host has made the default: each statement after a lock sees what the lock waited for. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE';

async function transact<T>(client: PgClient, work: (run: Run) => Promise<T>, commit: Commit): Promise<T> {
  await client.query({ text: BEGIN });
  let result: T;
  try {
    result = await work(runOn(client));
  } catch (cause) {
    // A connection that is gone has rolled back by itself.
    if (isAnswer(cause)) await client.query({ text: 'ROLLBACK' });
    throw cause;
  }
  await commit(client);
  return result;
}

async function runScript(client: PgClient, texts: readonly string[]): Promise<number[]> {
  try {
    const results = await client.query({ text: [BEGIN, ...texts, 'COMMIT'].join('; ') });
    // The driver answers with a list when there are several statements, which its types do not say.
    const counts = (results as unknown as readonly { readonly rowCount: number | null }[]).map(
      ({ rowCount }) => rowCount,
    );
    return counts.slice(1, -1).map((count) => count ?? 0);
  } catch (cause) {
    if (isAnswer(cause)) await client.query({ text: 'ROLLBACK' });
    throw cause;
  }
}

async function within<T>(client: PgClient, work: (run: Run) => Promise<T>): Promise<T> {
  try {
    await client.query({ text: 'SAVEPOINT intentbook' });
  } catch (cause) {
    if (codeOf(cause) !== NO_TRANSACTION) throw cause;
    throw new StoreError('Unsupported', 'no transaction is open on the client', { cause });
  }
  try {
    const result = await work(runOn(client));
    await client.query({ text: 'RELEASE SAVEPOINT intentbook' });
    return result;
  } catch (cause) {
    if (isAnswer(cause)) {
      await client.query({ text: 'ROLLBACK TO SAVEPOINT intentbook' });
      await client.query({ text: 'RELEASE SAVEPOINT intentbook' });
    }
    throw cause;
  }
}

const NO_TRANSACTION = '25P01';
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';

function mayRunAgain(cause: unknown): boolean {
  const code = codeOf(cause);
  return cause instanceof Collision || code === SERIALIZATION_FAILURE || code === DEADLOCK;
}

function isClient(transaction: unknown): transaction is PgClient {
  return (
    typeof transaction === 'object' &&
    transaction !== null &&
    'query' in transaction &&
    typeof transaction.query === 'function'
  );
}

/** Names are kept by each connection, which the store may share with its host and with stores of other schemas. */
function nameOf(text: string): string {
  return `intentbook_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}
