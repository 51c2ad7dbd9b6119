import type { Address, OrderCounts } from 'intentbook';
import type { Query } from './query.ts';
import { toByteArray, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** Numbers of live orders by owner. */
export type PgOwnerCounts = ReturnType<typeof createOwnerCounts>;

/**
 * Creates the counters. They do not depend on the time, so expired orders are subtracted when a count is read. If these
 * are many, the valid orders are counted instead, whose number a quota bounds. Neither way grows with an owner's
 * history.
 */
export function createOwnerCounts({ schema: s, prepare, read }: PostgresSession) {
  const lockRows = prepare<readonly [Address]>(`SELECT unnest(${s}.lock_owners($1, $2))`);
  const count = prepare<readonly [open: number, pending: number]>(
    `SELECT ${s}.live_count($1, 0, $2), ${s}.live_count($1, 1, $2)`,
  );
  return {
    /**
     * Gives a transaction the exclusive right to add or change orders of these owners. Every writing transaction does
     * this first and in the same order, so that no deadlock can occur.
     *
     * @param skip - Whether owners that another transaction has locked are omitted, instead of waiting for them.
     * @returns The locked owners.
     */
    async lock(run: Query, owners: Iterable<Address>, skip: boolean = false): Promise<ReadonlySet<Address>> {
      const rows = await run(lockRows, toByteArray([...new Set(owners)].map(toBytes)), skip);
      return new Set(rows.map(([owner]) => owner));
    },
    read: (owner: Address, now: number): Promise<OrderCounts> =>
      read('count orders', async (run) => {
        const [open = 0, pending = 0] = (await run(count, toBytes(owner), now))[0] ?? [];
        return { open, pending };
      }),
  };
}
