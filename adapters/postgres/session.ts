import { createHash } from 'node:crypto';
import { StoreError } from 'intentbook';
import type { CommitOutcomeResolver, StartedTransaction } from './commit-outcome.ts';
import { BEGIN, createCommitOutcomeResolver } from './commit-outcome.ts';
import type { PgClient, PgPool } from './driver.ts';
import { codeOf, toStoreError } from './driver.ts';
import type { Query, Statement } from './query.ts';
import { createQuery, isAnswer, RetryTransaction, resultsOf, withConnection } from './query.ts';

/** How the nouns of the store reach the database. */
export interface PostgresSession {
  /** The schema as SQL writes it: an identifier in quotes. */
  readonly schema: string;
  /** A statement that each connection prepares when it first runs it. */
  prepare<Row extends readonly unknown[]>(text: string): Statement<Row>;
  /** Runs one statement, or a few, without a transaction around them. */
  read<T>(doing: string, work: (run: Query) => Promise<T>): Promise<T>;
  /** Runs `work` in a durable transaction of its own. It runs again when another writer was in its way. */
  write<T>(doing: string, work: (run: Query) => Promise<T>): Promise<T>;
  /**
   * Runs statements without values in one round trip and one durable transaction. It runs again when another writer was
   * in its way.
   *
   * @returns how many rows each statement has touched.
   */
  script(doing: string, texts: readonly string[]): Promise<number[]>;
  /** Runs `work` inside the transaction that the host has open on a client. All of it is undone when it fails. */
  join<T>(doing: string, transaction: unknown, work: (run: Query) => Promise<T>): Promise<T>;
}

/** How often a transaction is run again. Nothing of the runs before has been acknowledged to anybody. */
const ATTEMPTS = 10;

export interface SessionSettings {
  readonly schema: string;
  /** Whether statements are prepared by name. Not where something between us and the server changes connections. */
  readonly named: boolean;
  /** How transactions are committed, where it takes more than a word. */
  readonly commit?: Commit;
  /** Resolves when `ms` milliseconds have passed. */
  readonly wait: (ms: number) => Promise<void>;
}

export function openSession(
  pool: PgPool,
  { schema, named, wait, commit = plainCommit }: SessionSettings,
): PostgresSession {
  const fate = createCommitOutcomeResolver(pool, wait);
  const statements = new Map<string, Statement>();

  async function again<T>(doing: string, work: (client: PgClient) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await withConnection(pool, work);
      } catch (cause) {
        if (cause instanceof CommitOutcomeUnknown) throw cause;
        if (attempt === ATTEMPTS || !mayRunAgain(cause)) throw toStoreError(doing, cause);
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
        return await withConnection(pool, (client) => work(createQuery(client)));
      } catch (cause) {
        throw toStoreError(doing, cause);
      }
    },
    async write<T>(doing: string, work: (run: Query) => Promise<T>) {
      try {
        return await again(doing, (client) => transact(client, work, commit, fate));
      } catch (cause) {
        if (!(cause instanceof CommitOutcomeUnknown)) throw cause;
        // It is asked on another connection, so that nobody is told of a failure whose step is there.
        if (await fate.wasCommitted(cause.transaction)) return cause.result as T; // of this work
        throw toStoreError(doing, cause.cause);
      }
    },
    script: (doing, texts) => again(doing, (client) => runScript(client, texts)),
    async join(doing, transaction, work) {
      if (!isClient(transaction)) {
        throw new StoreError('Unsupported', '`transaction` must be the client of node-postgres that it is open on');
      }
      try {
        return await within(transaction, work);
      } catch (cause) {
        throw toStoreError(doing, cause);
      }
    },
  };
}

/** How a transaction is committed. */
export type Commit = (client: PgClient) => Promise<void>;

const plainCommit: Commit = async (client) => {
  await client.query({ text: 'COMMIT' });
};

/** Thrown when a connection broke before it was known whether the transaction on it was committed. */
class CommitOutcomeUnknown extends Error {
  readonly transaction: StartedTransaction;
  /** What the transaction has given, if it was. */
  readonly result: unknown;

  constructor(transaction: StartedTransaction, result: unknown, cause: unknown) {
    super('a commit is in doubt', { cause });
    this.transaction = transaction;
    this.result = result;
  }
}

async function transact<T>(
  client: PgClient,
  work: (run: Query) => Promise<T>,
  commit: Commit,
  fate: CommitOutcomeResolver,
): Promise<T> {
  const transaction = await fate.begin(client);
  let result: T;
  try {
    result = await work(createQuery(client));
  } catch (cause) {
    // A connection that is gone has rolled back by itself.
    if (isAnswer(cause)) await client.query({ text: 'ROLLBACK' });
    throw cause;
  }
  try {
    await commit(client);
  } catch (cause) {
    throw isAnswer(cause) ? cause : new CommitOutcomeUnknown(transaction, result, cause);
  }
  return result;
}

async function runScript(client: PgClient, texts: readonly string[]): Promise<number[]> {
  try {
    const results = resultsOf(await client.query({ text: [BEGIN, ...texts, 'COMMIT'].join('; ') }));
    return results.slice(1, -1).map(({ rowCount }) => rowCount ?? 0);
  } catch (cause) {
    if (isAnswer(cause)) await client.query({ text: 'ROLLBACK' });
    throw cause;
  }
}

async function within<T>(client: PgClient, work: (run: Query) => Promise<T>): Promise<T> {
  try {
    await client.query({ text: 'SAVEPOINT intentbook' });
  } catch (cause) {
    if (codeOf(cause) !== NO_TRANSACTION) throw cause;
    throw new StoreError('Unsupported', 'no transaction is open on the client', { cause });
  }
  try {
    const result = await work(createQuery(client));
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

/** Names are kept by each connection, which the store may share with its host and with stores of other schemas. */
function nameOf(text: string): string {
  return `intentbook_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}
