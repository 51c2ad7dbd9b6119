import type { PgPool, PgPoolClient, PgQuery } from 'intentbook/postgres';
import type pg from 'pg';

/** A pool that records the statements of a store, to repeat them under `EXPLAIN`. */
export interface RecordingPool extends PgPool {
  /**
   * Runs an operation of the store, and then its statements again in a transaction that is rolled back.
   *
   * @returns The number of blocks that each statement reads or finds in memory, by its text.
   */
  countBlocks(work: () => Promise<unknown>): Promise<ReadonlyMap<string, number>>;
}

export function createRecordingPool(pool: pg.Pool): RecordingPool {
  let recorded: PgQuery[] | undefined;
  const wrapped = new WeakMap<object, PgPoolClient>();

  async function explain({ text, values = [] }: PgQuery): Promise<number> {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, [...values]);
      const [{ Plan: plan }] = rows[0]['QUERY PLAN'];
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  }

  return {
    async connect() {
      const client = await pool.connect();
      const known = wrapped.get(client);
      if (known !== undefined) return known;
      const recording: PgPoolClient = {
        query: (query) => {
          if (/^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)/.test(query.text)) recorded?.push(query);
          return (client as PgPoolClient).query(query);
        },
        release: (error) => client.release(error),
        on: (event, listener) => client.on(event as 'error', listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
      };
      wrapped.set(client, recording);
      return recording;
    },
    async countBlocks(work) {
      const statements: PgQuery[] = [];
      recorded = statements;
      await work().finally(() => {
        recorded = undefined;
      });
      const blocks = new Map<string, number>();
      for (const statement of statements) {
        await explain(statement); // fills the caches of the session, which read the catalogue
        blocks.set(statement.text, (blocks.get(statement.text) ?? 0) + (await explain(statement)));
      }
      return blocks;
    },
  };
}
