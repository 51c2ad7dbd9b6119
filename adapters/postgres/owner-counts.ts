import type { Address, Budget, OrderCounts } from 'intentbook';
import type { Query } from './query.ts';
import { BUDGETS, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** How many orders of each budget an owner has that are live, if time is left out of it. */
export type Kept = Readonly<Record<Budget, number>>;

/** Which live orders to count: those not expired at `now`, in seconds. */
export interface CountQuestion {
  readonly owner: Address;
  readonly budget: Budget;
  readonly now: number;
}

/** How many live orders an owner has. */
export interface PgOwnerCounts {
  /**
   * Within a transaction: makes it the only one that may change orders of these owners, or add any. Every transaction
   * that writes does this first, and in one order, so that they wait for each other in a line and not in a circle.
   */
  lock(run: Query, owners: Iterable<Address>): Promise<ReadonlyMap<Address, Kept>>;
  /** Within a transaction that has locked the owners. An answer for each question. */
  count(run: Query, questions: readonly CountQuestion[]): Promise<number[]>;
  read(owner: Address, now: number): Promise<OrderCounts>;
}

/** Past this many expired orders that still count as live, it is cheaper to count those that really are. */
const EXPIRED_TO_SUBTRACT = 1000;

/**
 * Counts are kept by what is known without a clock, so the expired ones are taken off when asked. Where they are many,
 * the others are counted instead, which a cap bounds: neither way grows with what an owner has ever done.
 */
export function createOwnerCounts({ schema: s, prepare, read }: PostgresSession): PgOwnerCounts {
  // The update that changes nothing is the lock. It also stops a host's transaction of a stricter isolation that began
  // before somebody else's order, and so could not count it.
  const lockRows = prepare<readonly [Address, number, number]>(
    `INSERT INTO ${s}.owners (owner, live_open, live_pending) SELECT o, 0, 0 FROM unnest($1::bytea[]) o ORDER BY o ` +
      'ON CONFLICT (owner) DO UPDATE SET live_open = owners.live_open RETURNING owner, live_open, live_pending',
  );
  const live = `${s}.orders o WHERE o.live AND o.owner = q.owner AND o.budget = q.budget`;
  const countRows = prepare<readonly [number]>(
    'SELECT CASE WHEN e.gone < $4 THEN kept.n - e.gone ' +
      `ELSE (SELECT count(*) FROM ${live} AND o.valid_to >= q.now) END ` +
      'FROM unnest($1::bytea[], $2::smallint[], $3::bigint[]) WITH ORDINALITY q (owner, budget, now, place) ' +
      `CROSS JOIN LATERAL (SELECT coalesce((SELECT CASE q.budget WHEN 0 THEN w.live_open ELSE w.live_pending END ` +
      `FROM ${s}.owners w WHERE w.owner = q.owner), 0) AS n) kept ` +
      `CROSS JOIN LATERAL (SELECT count(*) AS gone FROM (SELECT 1 FROM ${live} AND o.valid_to < q.now LIMIT $4) x) e ` +
      'ORDER BY q.place',
  );

  async function count(run: Query, questions: readonly CountQuestion[]): Promise<number[]> {
    if (questions.length === 0) return [];
    const rows = await run(
      countRows,
      questions.map(({ owner }) => toBytes(owner)),
      questions.map(({ budget }) => BUDGETS.indexOf(budget)),
      questions.map(({ now }) => now),
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
