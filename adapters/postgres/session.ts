import { createHash } from 'node:crypto';
import { StoreError } from 'intentbook';
import type { CommitOutcomeResolver, StartedTransaction } from './commit-outcome.ts';
import { BEGIN, createCommitOutcomeResolver } from './commit-outcome.ts';
import type { PgClient, PgPool } from './driver.ts';
import { getErrorCode, toStoreError } from './driver.ts';
import type { Query, Statement } from './query.ts';
import { createQuery, isServerError, RetryTransaction, toResults, withConnection } from './query.ts';

/** Database access for the tables of the store. */
export interface PostgresSession {
  /** Quoted schema name. */
  readonly schema: string;
  /** Returns a statement that each connection prepares on its first run. */
  prepare<Row extends readonly unknown[]>(text: string): Statement<Row>;
  /** Runs one or a few statements without a transaction. */
  read<T>(operation: string, work: (run: Query) => Promise<T>): Promise<T>;
  /** Runs `work` in its own durable transaction. It is retried after a conflict with another writer. */
  write<T>(operation: string, work: (run: Query) => Promise<T>): Promise<T>;
  /**
   * Runs statements without values in one round trip and one durable transaction. It is retried after a conflict with
   * another writer.
   *
   * @returns The number of affected rows of each statement.
   */
  script(operation: string, texts: readonly string[]): Promise<number[]>;
  /** Runs `work` inside the open transaction of the host on a client. If it fails, all of it is rolled back. */
  join<T>(operation: string, transaction: unknown, work: (run: Query) => Promise<T>): Promise<T>;
}

/** Maximum number of attempts of a transaction. An attempt that fails has no visible effect. */
const MAX_ATTEMPTS = 10;

export interface SessionSettings {
  readonly schema: string;
  /** Whether statements are prepared by name. Must be false if a pooler changes connections between transactions. */
  readonly named: boolean;
  /** Commits a transaction. Default: the statement `COMMIT`. */
  readonly commit?: Commit;
  /** Resolves after `ms` milliseconds. */
  readonly wait: (ms: number) => Promise<void>;
}

export function openSession(
  pool: PgPool,
  { schema, named, wait, commit = plainCommit }: SessionSettings,
): PostgresSession {
  const resolver = createCommitOutcomeResolver(pool, wait);
  const statements = new Map<string, Statement>();

  async function withRetry<T>(operation: string, work: (client: PgClient) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await withConnection(pool, work);
      } catch (cause) {
        if (cause instanceof CommitOutcomeUnknown) throw cause;
        if (attempt === MAX_ATTEMPTS || !isRetryable(cause)) throw toStoreError(operation, cause);
      }
    }
  }

  return {
    schema,
    prepare(text) {
      const statement = statements.get(text) ?? (named ? { text, name: getStatementName(text) } : { text });
      statements.set(text, statement);
      return statement as Statement<never>; // the caller declares the type of the rows
    },
    async read(operation, work) {
      try {
        return await withConnection(pool, (client) => work(createQuery(client)));
      } catch (cause) {
        throw toStoreError(operation, cause);
      }
    },
    async write<T>(operation: string, work: (run: Query) => Promise<T>) {
      try {
        return await withRetry(operation, (client) => transact(client, work, commit, resolver));
      } catch (cause) {
        if (!(cause instanceof CommitOutcomeUnknown)) throw cause;
        // The outcome is queried on another connection, so that a committed transaction is not reported as failed.
        if (await resolver.wasCommitted(cause.transaction)) return cause.result as T; // of this work
        throw toStoreError(operation, cause.cause);
      }
    },
    script: (operation, texts) => withRetry(operation, (client) => runScript(client, texts)),
    async join(operation, transaction, work) {
      if (!isClient(transaction)) {
        throw new StoreError('Unsupported', '`transaction` must be the node-postgres client on which it is open');
      }
      try {
        return await runInSavepoint(transaction, work);
      } catch (cause) {
        throw toStoreError(operation, cause);
      }
    },
  };
}

/** Commits the open transaction of a client. */
export type Commit = (client: PgClient) => Promise<void>;

const plainCommit: Commit = async (client) => {
  await client.query({ text: 'COMMIT' });
};

/** Thrown if the connection broke during the commit, so that its outcome is unknown. */
class CommitOutcomeUnknown extends Error {
  readonly transaction: StartedTransaction;
  /** Result of the transaction, valid if it is committed. */
  readonly result: unknown;

  constructor(transaction: StartedTransaction, result: unknown, cause: unknown) {
    super('the outcome of a commit is unknown', { cause });
    this.transaction = transaction;
    this.result = result;
  }
}

async function transact<T>(
  client: PgClient,
  work: (run: Query) => Promise<T>,
  commit: Commit,
  resolver: CommitOutcomeResolver,
): Promise<T> {
  const transaction = await resolver.begin(client);
  let result: T;
  try {
    result = await work(createQuery(client));
  } catch (cause) {
    // A broken connection has already rolled back.
    if (isServerError(cause)) await client.query({ text: 'ROLLBACK' });
    throw cause;
  }
  try {
    await commit(client);
  } catch (cause) {
    throw isServerError(cause) ? cause : new CommitOutcomeUnknown(transaction, result, cause);
  }
  return result;
}

async function runScript(client: PgClient, texts: readonly string[]): Promise<number[]> {
  try {
    const results = toResults(await client.query({ text: [BEGIN, ...texts, 'COMMIT'].join('; ') }));
    return results.slice(1, -1).map(({ rowCount }) => rowCount ?? 0);
  } catch (cause) {
    if (isServerError(cause)) await client.query({ text: 'ROLLBACK' });
    throw cause;
  }
}

async function runInSavepoint<T>(client: PgClient, work: (run: Query) => Promise<T>): Promise<T> {
  try {
    await client.query({ text: 'SAVEPOINT intentbook' });
  } catch (cause) {
    if (getErrorCode(cause) !== NO_TRANSACTION) throw cause;
    throw new StoreError('Unsupported', 'no transaction is open on the client', { cause });
  }
  try {
    const result = await work(createQuery(client));
    await client.query({ text: 'RELEASE SAVEPOINT intentbook' });
    return result;
  } catch (cause) {
    if (isServerError(cause)) {
      await client.query({ text: 'ROLLBACK TO SAVEPOINT intentbook' });
      await client.query({ text: 'RELEASE SAVEPOINT intentbook' });
    }
    throw cause;
  }
}

const NO_TRANSACTION = '25P01';
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';

function isRetryable(cause: unknown): boolean {
  const code = getErrorCode(cause);
  return cause instanceof RetryTransaction || code === SERIALIZATION_FAILURE || code === DEADLOCK;
}

function isClient(transaction: unknown): transaction is PgClient {
  return (
    typeof transaction === 'object' &&
    transaction !== null &&
    'query' in transaction &&
    typeof transaction.query === 'function'
  );
}

/** Returns a unique name. Each connection keeps its names, and may be shared with the host and with other stores. */
function getStatementName(text: string): string {
  return `intentbook_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}
