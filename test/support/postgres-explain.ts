import type { PgPool, PgPoolClient, PgQuery } from 'intentbook/postgres';
import type pg from 'pg';

/** A pool that records the statements of a store, to repeat them under `EXPLAIN`. */
export interface RecordingPool extends PgPool {
  /**
   * Runs an operation of the store, and then its statements again in a transaction that is rolled back.
   *
   * @param preparations - Statements that undo the effect of the operation before each of them.
   * @returns The number of blocks that each statement reads or finds in memory, by its text.
   */
  countBlocks(work: () => Promise<unknown>, preparations?: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Does the same, and returns the sums of all statements. */
  measureCost(work: () => Promise<unknown>, preparations?: readonly string[]): Promise<StatementCost>;
}

/** What statements cost the server. */
export interface StatementCost {
  readonly blocks: number;
  /** Bytes of the write-ahead log. */
  readonly wal: number;
}

export function createRecordingPool(pool: pg.Pool): RecordingPool {
  let recorded: PgQuery[] | undefined;
  const wrapped = new WeakMap<object, PgPoolClient>();

  async function explain({ text, values = [] }: PgQuery, settings: readonly string[]): Promise<StatementCost> {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      for (const setting of settings) await client.query(setting);
      const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, WAL, FORMAT JSON) ${text}`, [...values]);
      const [{ Plan: plan }] = rows[0]['QUERY PLAN'];
      return { blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], wal: plan['WAL Bytes'] };
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  }

  /**
   * Returns the cost without that of the catalogue. The first run fills the caches of the session. Other sessions can
   * invalidate them before the next one, with tables that they create, so the cheapest of several runs counts.
   */
  async function explainWarm(statement: PgQuery, settings: readonly string[]): Promise<StatementCost> {
    const costs: StatementCost[] = [];
    for (let run = 0; run < 3; run++) costs.push(await explain(statement, settings));
    return costs.reduce((least, cost) => (cost.blocks < least.blocks ? cost : least));
  }

  async function measure(
    work: () => Promise<unknown>,
    preparations: readonly string[] = [],
  ): Promise<readonly (readonly [string, StatementCost])[]> {
    const statements: PgQuery[] = [];
    recorded = statements;
    await work().finally(() => {
      recorded = undefined;
    });
    const costs: (readonly [string, StatementCost])[] = [];
    let settings = preparations;
    for (const statement of statements) {
      if (statement.text.startsWith('BEGIN')) {
        settings = [...preparations, ...(statement.text.match(/SET LOCAL enable_\w+ = off/g) ?? [])];
        continue;
      }
      // A setting of the transaction also applies to its later statements.
      const [, name] = /set_config\('(enable_\w+)', 'off', true\)/.exec(statement.text) ?? [];
      if (name !== undefined) settings = [...settings, `SET LOCAL ${name} = off`];
      costs.push([statement.text, await explainWarm(statement, settings)]);
    }
    return costs;
  }

  return {
    async connect() {
      const client = await pool.connect();
      const known = wrapped.get(client);
      if (known !== undefined) return known;
      const recording: PgPoolClient = {
        query: (query) => {
          if (/^\s*(SELECT|WITH|INSERT|UPDATE|DELETE|BEGIN)/.test(query.text)) recorded?.push(query);
          return (client as PgPoolClient).query(query);
        },
        release: (error) => client.release(error),
        on: (event, listener) => client.on(event as 'error', listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
      };
      wrapped.set(client, recording);
      return recording;
    },
    async countBlocks(work, preparations) {
      const blocks = new Map<string, number>();
      for (const [text, cost] of await measure(work, preparations))
        blocks.set(text, (blocks.get(text) ?? 0) + cost.blocks);
      return blocks;
    },
    async measureCost(work, preparations) {
      const costs = await measure(work, preparations);
      const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
      return { blocks: sum(costs.map(([, { blocks }]) => blocks)), wal: sum(costs.map(([, { wal }]) => wal)) };
    },
  };
}
