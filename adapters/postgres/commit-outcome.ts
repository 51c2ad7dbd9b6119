import { StoreError } from 'intentbook';
import type { PgClient, PgPool } from './driver.ts';
import { codeOf } from './driver.ts';
import { createQuery, resultsOf, withConnection } from './query.ts';

/** READ COMMITTED, whatever the host has made the default: each statement after a lock sees what the lock waited for. */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE';

/** A transaction, as it can be asked after. */
export interface StartedTransaction {
  /** The number the server gave to it. */
  readonly number: string;
  /** Changes when the server recovers from a crash, after which it may give the same number again. */
  readonly serverEpoch: string;
}

/** Finds out what came of transactions whose connection broke while they were committed. */
export interface CommitOutcomeResolver {
  begin(client: PgClient): Promise<StartedTransaction>;
  /** @throws StoreError `Unavailable` when nobody can tell. */
  wasCommitted(transaction: StartedTransaction): Promise<boolean>;
}

/** How long to ask: longer than a server takes to come back. */
const ASKING = { times: 40, every: 250 };

const INVALID_PARAMETER = '22023';

/** When its counters began, which a server forgets in a crash only, or when somebody resets them. */
const ERA = '(SELECT stats_reset FROM pg_stat_bgwriter)::text';

export function createCommitOutcomeResolver(pool: PgPool, wait: (ms: number) => Promise<void>): CommitOutcomeResolver {
  // No connection outlives a crash, so each is asked once.
  const eras = new WeakMap<PgClient, string>();
  const question = { text: `SELECT pg_xact_status($1::xid8), ${ERA}` };

  async function eraOf(client: PgClient): Promise<string> {
    const known = eras.get(client);
    if (known !== undefined) return known;
    const [row] = await createQuery(client)<readonly [string | null]>({ text: `SELECT ${ERA}` });
    const era = row?.[0] ?? '';
    eras.set(client, era);
    return era;
  }

  /** @returns undefined while it is still being committed. */
  async function ask({ number, serverEpoch: era }: StartedTransaction): Promise<boolean | undefined> {
    try {
      const [row] = await withConnection(pool, (client) =>
        createQuery(client)<readonly [status: string | null, era: string | null]>(question, number),
      );
      if (row?.[0] === 'aborted') return false;
      if (row?.[0] !== 'committed') return undefined;
      // After a crash it may be somebody else's transaction.
      return row[1] === era ? true : undefined;
    } catch (cause) {
      // It never gave that number, as far as it remembers.
      if (codeOf(cause) === INVALID_PARAMETER) return false;
      throw cause;
    }
  }

  return {
    async begin(client) {
      const era = await eraOf(client);
      // The number is asked for at once: everything that is run in a transaction of the store writes.
      const text = `${BEGIN}; SELECT pg_current_xact_id()::text AS number`;
      const [, numbered] = resultsOf(await client.query({ text }));
      const { number } = (numbered?.rows[0] ?? {}) as { readonly number?: string }; // the column selected
      if (number === undefined) throw new Error('the server gave no number to a transaction');
      return { number, serverEpoch: era };
    },

    async wasCommitted(transaction) {
      let failure: unknown;
      for (let i = 0; i < ASKING.times; i++) {
        if (i > 0) await wait(ASKING.every);
        try {
          const answer = await ask(transaction);
          if (answer !== undefined) return answer;
        } catch (cause) {
          failure = cause;
        }
      }
      throw new StoreError(
        'Unavailable',
        'the connection to PostgreSQL broke in a commit, and what came of it cannot be found out',
        { cause: failure },
      );
    },
  };
}
