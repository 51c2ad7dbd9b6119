import type { Address, Budget, OrderCounts } from 'intentbook';
import type { Query } from './query.ts';
import { BUDGETS, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** Numbers of live orders of an owner by budget, including expired orders whose expiry is not recorded yet. */
export type LiveCounts = Readonly<Record<Budget, number>>;

/** Selects the live orders that are not expired at `now`, in seconds. */
export interface CountQuery {
  readonly owner: Address;
  readonly budget: Budget;
  readonly now: number;
}

/** Numbers of live orders by owner. */
export interface PgOwnerCounts {
  /**
   * Gives a transaction the exclusive right to add or change orders of these owners. Every writing transaction does
   * this first and in the same order, so that no deadlock can occur.
   */
  lock(run: Query, owners: Iterable<Address>): Promise<ReadonlyMap<Address, LiveCounts>>;
  /** Returns one count for each query. Must run within a transaction that has locked the owners. */
  count(run: Query, queries: readonly CountQuery[]): Promise<number[]>;
  read(owner: Address, now: number): Promise<OrderCounts>;
}

/** Limit for counting expired orders that are still live. Above it, counting the valid orders is cheaper. */
const EXPIRED_TO_SUBTRACT = 1000;

/**
 * Creates the counters. They do not depend on the time, so expired orders are subtracted when a count is read. If these
 * are many, the valid orders are counted instead, whose number a cap bounds. Neither way grows with an owner's history.
 */
export function createOwnerCounts({ schema: s, prepare, read }: PostgresSession): PgOwnerCounts {
  // The update without a change is the lock. It also aborts a host's transaction of a stricter isolation level that
  // started before the order of another transaction, and so could not count it.
  const lockRows = prepare<readonly [Address, number, number]>(
    `INSERT INTO ${s}.owners (owner, live_open, live_pending) SELECT o, 0, 0 FROM unnest($1::bytea[]) o ORDER BY o ` +
      'ON CONFLICT (owner) DO UPDATE SET live_open = owners.live_open RETURNING owner, live_open, live_pending',
  );
  const live = `${s}.orders o WHERE o.live AND o.owner = q.owner AND o.budget = q.budget`;
  const countRows = prepare<readonly [number]>(
    'SELECT CASE WHEN e.expired < $4 THEN counters.n - e.expired ' +
      `ELSE (SELECT count(*) FROM ${live} AND o.valid_to >= q.now) END ` +
      'FROM unnest($1::bytea[], $2::smallint[], $3::bigint[]) WITH ORDINALITY q (owner, budget, now, ordinal) ' +
      `CROSS JOIN LATERAL (SELECT coalesce((SELECT CASE q.budget WHEN 0 THEN w.live_open ELSE w.live_pending END ` +
      `FROM ${s}.owners w WHERE w.owner = q.owner), 0) AS n) counters ` +
      `CROSS JOIN LATERAL (SELECT count(*) AS expired FROM (SELECT 1 FROM ${live} AND o.valid_to < q.now LIMIT $4) x) e ` +
      'ORDER BY q.ordinal',
  );

  async function count(run: Query, queries: readonly CountQuery[]): Promise<number[]> {
    if (queries.length === 0) return [];
    const rows = await run(
      countRows,
      queries.map(({ owner }) => toBytes(owner)),
      queries.map(({ budget }) => BUDGETS.indexOf(budget)),
      queries.map(({ now }) => now),
      EXPIRED_TO_SUBTRACT,
    );
    return rows.map(([n]) => n);
  }

  return {
    async lock(run, owners) {
      const rows = await run(lockRows, [...new Set(owners)].map(toBytes));
      return new Map(rows.map(([owner, open, pending]) => [owner, { open, pending }]));
    },
    count,
    read: (owner, now) =>
      read('count orders', async (run) => {
        const [open = 0, pending = 0] = await count(
          run,
          BUDGETS.map((budget) => ({ owner, budget, now })),
        );
        return { open, pending };
      }),
  };
}
