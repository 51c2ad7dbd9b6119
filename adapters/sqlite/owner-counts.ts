import type { Address, Budget, OrderCounts } from 'intentbook';
import { BUDGETS, toBytes } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** Numbers of live orders by owner. */
export interface OwnerCounts {
  /** Returns an upper bound without counting: it includes expired orders whose expiry is not recorded yet. */
  upperBound(owner: Buffer, budget: Budget): number;
  /** @param now - Seconds since 1970. */
  count(owner: Buffer, budget: Budget, now: number): number;
  read(owner: Address, now: number): OrderCounts;
  /** Must run within a transaction. */
  add(owner: Buffer, budget: Budget): void;
  /** Must run within a transaction. */
  remove(owner: Buffer, budget: Budget): void;
}

/** Maximum number of live but expired orders, of all owners, that a count reads to subtract those of one owner. */
const MAX_EXPIRED_SCAN = 1000;

/**
 * Creates the counters. They do not depend on the time, so expired orders are subtracted when a count is read. The
 * engine records expiries within seconds, so few orders are expired and still live. If these are many, the owner's
 * live orders are counted instead. Neither way grows with an owner's history.
 */
export function createOwnerCounts({ prefix: p, prepare, read }: SqliteSession): OwnerCounts {
  const selectCounts = prepare(`SELECT live_open, live_pending FROM ${p}owners WHERE owner = ?`).raw();
  const expired = prepare(
    'SELECT count(*), count(CASE WHEN owner = ? AND budget = ? THEN 1 END) FROM ' +
      `(SELECT owner, budget FROM ${p}orders INDEXED BY ${p}orders_expiring WHERE live = 1 AND valid_to < ? LIMIT ?)`,
  ).raw();
  const valid = prepare(
    `SELECT count(*) FROM ${p}orders INDEXED BY ${p}orders_live_owner ` +
      'WHERE live = 1 AND owner = ? AND budget = ? AND valid_to >= ?',
  ).pluck();
  const insert = prepare(
    `INSERT INTO ${p}owners (owner, live_open, live_pending) VALUES (?, ?, ?) ON CONFLICT (owner) ` +
      'DO UPDATE SET live_open = live_open + excluded.live_open, live_pending = live_pending + excluded.live_pending',
  );
  const subtract = prepare(
    `UPDATE ${p}owners SET live_open = live_open - ?, live_pending = live_pending - ? WHERE owner = ?`,
  );

  function upperBound(owner: Buffer, budget: Budget): number {
    const row = selectCounts.get(owner) as readonly number[] | undefined; // two counters, by budget
    return row?.[BUDGETS.indexOf(budget)] ?? 0;
  }

  function count(owner: Buffer, budget: Budget, now: number): number {
    const code = BUDGETS.indexOf(budget);
    const all = upperBound(owner, budget);
    if (all === 0) return 0;
    const [found, own] = expired.get(owner, code, now, MAX_EXPIRED_SCAN) as [number, number]; // two counts
    if (found < MAX_EXPIRED_SCAN) return all - own;
    return valid.get(owner, code, now) as number; // count(*)
  }

  return {
    upperBound,
    count,
    read: (address, now) =>
      read('count orders', () => {
        const owner = toBytes(address);
        return { open: count(owner, 'open', now), pending: count(owner, 'pending', now) };
      }),
    add: (owner, budget) => void insert.run(owner, ...toCounts(budget)),
    remove: (owner, budget) => void subtract.run(...toCounts(budget), owner),
  };
}

/** Returns one order as values of the two counters. */
const toCounts = (budget: Budget) => (budget === 'open' ? [1, 0] : [0, 1]);
