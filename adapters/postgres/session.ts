import { createHash } from 'node:crypto';
import { StoreError } from 'intentbook';
import { type CommitOutcomeResolver, createCommitOutcomeResolver, type StartedTransaction } from './commit-outcome.ts';
import type { ConnectionTraits } from './connection.ts';
import { getErrorCode, type PgClient, type PgPool, startRequest, TIMEOUTS, toStoreError } from './database-driver.ts';
import type { Query, Statement } from './query.ts';
import { CommitOutcomeUnknown, createQuery, isServerError, observeReplication, withConnection } from './query.ts';

/** Database access for the tables of the store. */
export interface PostgresSession {
  /** Quoted schema name. */
  readonly schema: string;
  /** Returns a statement that each connection prepares on its first run. */
  prepare<Row extends readonly unknown[]>(text: string): Statement<Row>;
  /** The same for rows that are objects with the names of the columns. */
  prepareObjects<Row extends object>(text: string): Statement<Row>;
  /** Runs one or a few statements that only read. They are retried after a conflict. */
  read<T>(operation: string, work: (run: Query) => Promise<T>): Promise<T>;
  /**
   * Runs one writing statement as one durable transaction and one round trip. It is retried after a conflict with
   * another writer.
   *
   * @throws StoreError `OutcomeUnknown` if the connection broke. With `repeatable`, `Unavailable`.
   */
  call<T>(
    operation: string,
    work: (run: Query) => Promise<T>,
    options?: {
      /** Whether the statement can be repeated after an unknown outcome. */
      readonly repeatable?: boolean;
    },
  ): Promise<T>;
  /** Runs `work` in its own durable transaction. It is retried after a conflict with another writer. */
  write<T>(operation: string, work: (run: Query) => Promise<T>): Promise<T>;
  /** Runs `work` inside the open transaction of the host on a client. If it fails, all of it is rolled back. */
  join<T>(operation: string, transaction: unknown, work: (run: Query) => Promise<T>): Promise<T>;
  /** Waits until the statement of a failed `call` has ended. @returns false if this cannot be determined in time. */
  settle(failure: unknown): Promise<boolean>;
}

/** Maximum number of attempts of a transaction. An attempt that fails has no visible effect. */
const MAX_ATTEMPTS = 10;

export interface SessionSettings extends ConnectionTraits {
  readonly schema: string;
  /** Whether statements are prepared by name. Must be false if a pooler changes connections between transactions. */
  readonly named: boolean;
  /** Whether writes can join a transaction of the host. Default: true. */
  readonly joinable?: boolean;
  /**
   * Called on the same connection after a commit, and without one after a commit with an unknown outcome. A failure
   * does not affect the result.
   */
  readonly committed?: (client?: PgClient) => Promise<void>;
  /** Resolves after `ms` milliseconds. */
  readonly wait: (ms: number) => Promise<void>;
}

export function openSession(
  pool: PgPool,
  { schema, named, direct, strict, joinable = true, wait, committed = async () => {} }: SessionSettings,
): PostgresSession {
  const resolver = createCommitOutcomeResolver(pool, wait);
  const statements = new Map<string, Statement>();
  /** Process ids of the sessions that may still run the statement of a failure. */
  const failures = new WeakMap<StoreError, number>();

  /** Runs the statements of a request, whose time includes the wait for a connection. */
  function retryRequest<T>(operation: string, work: (client: PgClient, run: Query) => Promise<T>): Promise<T> {
    const getLimit = startRequest();
    return withRetry(pool, operation, (client) => work(client, createQuery(client, getLimit())));
  }

  async function runStatement<T>(client: PgClient, work: () => Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await observeReplication(client, work);
    } catch (cause) {
      if (isServerError(cause)) throw cause;
      await committed().catch(() => {});
      if (cause instanceof CommitOutcomeUnknown) throw cause;
      throw new CommitOutcomeUnknown(direct ? client.processID : undefined, cause);
    }
    await committed(client).catch(() => {});
    return result;
  }

  const session: PostgresSession = {
    schema,
    prepare(text) {
      const statement = statements.get(text) ?? (named ? { text, name: getStatementName(text) } : { text });
      statements.set(text, statement);
      return statement as Statement<never>; // the caller declares the type of the rows
    },
    prepareObjects: (text) => ({ ...session.prepare<never>(text), rowMode: undefined }),
    read: (operation, work) => retryRequest(operation, (_, run) => work(run)),
    async call(operation, work, { repeatable = false } = {}) {
      if (strict) return session.write(operation, work);
      try {
        return await retryRequest(operation, (client, run) => runStatement(client, () => work(run)));
      } catch (cause) {
        if (!(cause instanceof CommitOutcomeUnknown)) throw cause;
        if (repeatable) throw toStoreError(operation, cause.cause);
        const failure = toUnknown(operation, cause);
        if (cause.processId !== undefined) failures.set(failure, cause.processId);
        throw failure;
      }
    },
    async write<T>(operation: string, work: (run: Query) => Promise<T>) {
      try {
        return await withRetry(pool, operation, (client) => transact(client, work, committed, resolver));
      } catch (cause) {
        if (!(cause instanceof TransactionOutcomeUnknown)) {
          throw cause instanceof CommitOutcomeUnknown ? toUnknown(operation, cause) : cause;
        }
        // The outcome is queried on another connection, so that a committed transaction is not reported as failed.
        const committed = await resolver.wasCommitted(cause.transaction);
        if (committed === undefined) throw toUnknown(operation, cause);
        if (committed) return cause.result as T; // of this work
        throw toStoreError(operation, cause.cause);
      }
    },
    async join(operation, transaction, work) {
      if (!joinable) throw new StoreError('Unsupported', 'the only connection cannot run a transaction of the host');
      if (!isClient(transaction)) throw createClientError();
      try {
        return await runInTurn(transaction, () => runInSavepoint(transaction, work));
      } catch (cause) {
        throw toStoreError(operation, cause);
      }
    },
    async settle(failure) {
      const started = failure instanceof StoreError ? failures.get(failure) : undefined;
      return started === undefined ? false : endSession(pool, started, wait);
    },
  };
  return session;
}

/** Runs work on a connection, and repeats it after a conflict with another writer. It must have no effect then. */
export async function withRetry<T>(
  pool: PgPool,
  operation: string,
  work: (client: PgClient) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await withConnection(pool, work);
    } catch (cause) {
      if (cause instanceof CommitOutcomeUnknown) throw cause;
      if (attempt === MAX_ATTEMPTS || !isRetryable(cause)) throw toStoreError(operation, cause);
    }
  }
}

/** Number and interval of the attempts to end a session, in milliseconds. */
const END = { times: 8, interval: 250 };

/**
 * Ends the session of a broken connection, which may still run its statement or wait for a standby.
 *
 * @returns whether it has ended.
 */
async function endSession(pool: PgPool, processId: number, wait: SessionSettings['wait']): Promise<boolean> {
  // The role that has logged in may have set another one. If that may not end the session, the statement fails. A
  // standby does not show the sessions of the primary.
  const text =
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND usename = session_user ' +
    'AND pid <> pg_backend_pid() AND NOT pg_is_in_recovery() UNION ALL SELECT false WHERE pg_is_in_recovery()';
  for (let i = 0; i < END.times; i++) {
    if (i > 0) await wait(END.interval);
    try {
      const rows = await withConnection(pool, (client) => createQuery(client)({ text }, processId));
      if (rows.length === 0) return true;
    } catch {
      // The server may be restarting.
    }
  }
  return false;
}

function toUnknown(operation: string, { cause }: CommitOutcomeUnknown): StoreError {
  const message = `the PostgreSQL store cannot determine the outcome of an attempt to ${operation}: it may be stored`;
  return new StoreError('OutcomeUnknown', message, { cause });
}

/** Thrown if the outcome of the commit of a transaction is unknown. */
class TransactionOutcomeUnknown extends CommitOutcomeUnknown {
  readonly transaction: StartedTransaction;
  /** Result of the transaction, valid if it is committed. */
  readonly result: unknown;

  constructor(transaction: StartedTransaction, result: unknown, cause: unknown) {
    super(undefined, cause);
    this.transaction = transaction;
    this.result = result;
  }
}

async function transact<T>(
  client: PgClient,
  work: (run: Query) => Promise<T>,
  committed: (client?: PgClient) => Promise<void>,
  resolver: CommitOutcomeResolver,
): Promise<T> {
  let transaction: StartedTransaction;
  let result: T;
  try {
    transaction = await resolver.begin(client);
    result = await work(createQuery(client, TIMEOUTS.workerStatement + 1000));
  } catch (cause) {
    // A broken connection has already rolled back.
    if (isServerError(cause)) await client.query({ text: 'ROLLBACK' });
    throw cause;
  }
  try {
    await observeReplication(client, () => client.query({ text: 'COMMIT' }));
  } catch (cause) {
    if (isServerError(cause)) {
      // A commit that is cancelled before it begins leaves the transaction open, for the next user of the connection.
      await client.query({ text: 'ROLLBACK' });
      throw cause;
    }
    await committed().catch(() => {});
    if (cause instanceof CommitOutcomeUnknown) throw cause;
    throw new TransactionOutcomeUnknown(transaction, result, cause);
  }
  await committed(client).catch(() => {});
  return result;
}

/** The end of the last savepoint of each client. */
const savepoints = new WeakMap<PgClient, Promise<unknown>>();

/** Waits for earlier savepoints of the client. A rollback to one of them would undo what is inserted meanwhile. */
function runInTurn<T>(client: PgClient, work: () => Promise<T>): Promise<T> {
  const result = (savepoints.get(client) ?? Promise.resolve()).then(work);
  savepoints.set(
    client,
    result.catch(() => {}),
  );
  return result;
}

async function runInSavepoint<T>(client: PgClient, work: (run: Query) => Promise<T>): Promise<T> {
  try {
    const result: { readonly rows?: unknown } | undefined = await client.query({ text: 'SAVEPOINT intentbook' });
    if (!Array.isArray(result?.rows)) throw createClientError();
  } catch (cause) {
    if (getErrorCode(cause) !== NO_TRANSACTION) throw cause;
    throw new StoreError('Unsupported', 'no transaction is open on the client', { cause });
  }
  try {
    const run = createQuery(client);
    // Without names: the host, or a pooler between two transactions, may have discarded prepared statements.
    const result = await work(({ name: _, ...statement }, ...values) => run(statement, ...values));
    await client.query({ text: 'RELEASE SAVEPOINT intentbook' });
    return result;
  } catch (cause) {
    // Also after an error of the driver: a statement that exceeded a time limit of the host is still executed.
    await rollBackToSavepoint(client).catch(() => {}); // a broken connection has already rolled back
    throw cause;
  }
}

async function rollBackToSavepoint(client: PgClient): Promise<void> {
  await client.query({ text: 'ROLLBACK TO SAVEPOINT intentbook' });
  await client.query({ text: 'RELEASE SAVEPOINT intentbook' });
}

const NO_TRANSACTION = '25P01';

/** Serialization failure, deadlock, and statements that a pooler has lost with its connection. */
const RETRYABLE = /^(40001|40P01|26000|42P05)$/;

function isRetryable(cause: unknown): boolean {
  return RETRYABLE.test(getErrorCode(cause) ?? '');
}

const createClientError = () =>
  new StoreError('Unsupported', '`transaction` must be the node-postgres client on which it is open');

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
