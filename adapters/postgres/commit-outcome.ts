import { getErrorCode, LOCAL_LIMITS, type PgClient, type PgPool } from './database-driver.ts';
import { CommitOutcomeUnknown, createQuery, observeReplication, toResults, withConnection } from './query.ts';

/**
 * READ COMMITTED, whatever the host's default is: each statement after a lock sees the changes that the lock waited
 * for.
 */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE';

/** Identity of a transaction, for querying its outcome. */
export interface StartedTransaction {
  /** Transaction id of the server. */
  readonly number: string;
  /** Changes when the server recovers from a crash, after which it may assign the same id again. */
  readonly serverEpoch: string;
}

/** Determines the outcome of transactions whose connection broke during the commit. */
export type CommitOutcomeResolver = ReturnType<typeof createCommitOutcomeResolver>;

/** Number and interval of the queries, in milliseconds. The caller waits for them. */
const RETRIES = { times: 8, interval: 250 };

const INVALID_PARAMETER = '22023';

/** SQL for the start of the server's statistics. It changes after a crash, or when the statistics are reset. */
const SERVER_EPOCH = '(SELECT stats_reset FROM pg_stat_bgwriter)::text';

export function createCommitOutcomeResolver(pool: PgPool, wait: (ms: number) => Promise<void>) {
  // A connection does not survive a crash, so the epoch is queried once per connection.
  const epochs = new WeakMap<PgClient, string>();
  // A standby may lack the transaction, and does not know whether the primary commits it.
  const status = 'CASE WHEN NOT pg_is_in_recovery() THEN pg_xact_status($1::xid8) END';
  const statusQuery = { text: `SELECT ${status}, ${SERVER_EPOCH}` };
  // The cheapest commit that waits for a standby.
  const write = { text: "SELECT pg_logical_emit_message(true, 'intentbook', '')" };

  /**
   * Queries the status. A session that ended while it waited for the synchronous standby has committed on this server
   * only, so a later commit waits for the standby.
   */
  async function queryStatus(client: PgClient, number: string) {
    const [row] = await createQuery(client)<readonly [status: string | null, epoch: string | null]>(
      statusQuery,
      number,
    );
    if (row?.[0] === 'committed') await observeReplication(client, () => createQuery(client)(write));
    return row;
  }

  async function getEpoch(client: PgClient): Promise<string> {
    const cached = epochs.get(client);
    if (cached !== undefined) return cached;
    const [row] = await createQuery(client)<readonly [string | null]>({ text: `SELECT ${SERVER_EPOCH}` });
    const epoch = row?.[0] ?? '';
    epochs.set(client, epoch);
    return epoch;
  }

  /** Returns whether a transaction is committed, or undefined while it is in progress. */
  async function queryOutcome({ number, serverEpoch }: StartedTransaction): Promise<boolean | undefined> {
    try {
      const row = await withConnection(pool, (client) => queryStatus(client, number));
      if (row?.[0] === 'aborted') return false;
      if (row?.[0] !== 'committed') return undefined;
      // After a crash, the id may belong to another transaction.
      return row[1] === serverEpoch ? true : undefined;
    } catch (cause) {
      // The server has no record of assigning that id.
      if (getErrorCode(cause) === INVALID_PARAMETER) return false;
      throw cause;
    }
  }

  return {
    async begin(client: PgClient): Promise<StartedTransaction> {
      const serverEpoch = await getEpoch(client);
      // The id is assigned immediately, because every transaction of the store writes.
      const text = `${BEGIN}; ${LOCAL_LIMITS}; SELECT pg_current_xact_id()::text AS number`;
      const numbered = toResults(await client.query({ text })).at(-1);
      const { number } = (numbered?.rows[0] ?? {}) as { readonly number?: string }; // the column selected
      if (number === undefined) throw new Error('the server returned no id for a transaction');
      return { number, serverEpoch };
    },

    /**
     * Returns whether a transaction was committed; `undefined` if this cannot be determined in time, or if the
     * synchronous standby may lack it.
     */
    async wasCommitted(transaction: StartedTransaction): Promise<boolean | undefined> {
      for (let i = 0; i < RETRIES.times; i++) {
        if (i > 0) await wait(RETRIES.interval);
        try {
          const committed = await queryOutcome(transaction);
          if (committed !== undefined) return committed;
        } catch (cause) {
          if (cause instanceof CommitOutcomeUnknown) return undefined;
          // The server may be restarting.
        }
      }
      return undefined;
    },
  };
}
