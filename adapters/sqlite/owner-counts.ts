import type { Address, OrderCounts, QuotaClass } from 'intentbook';
import { QUOTA_CLASSES, toBytes } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** Numbers of live orders by owner. */
export type OwnerCounts = ReturnType<typeof createOwnerCounts>;

/** Maximum number of live but expired orders, of all owners, that a count reads to subtract those of one owner. */
const MAX_EXPIRED_SCAN = 1000;

/**
 * Creates the counters. They do not depend on the time, so expired orders are subtracted when a count is read. The
 * engine records expiries within seconds, so few orders are expired and still live. If these are many, the owner's
 * live orders are counted instead. Neither way grows with an owner's history.
 */
export function createOwnerCounts({ prefix: p, prepare, read }: SqliteSession) {
  const selectCounts = prepare(`SELECT live_open, live_pending FROM ${p}owners WHERE owner = ?`).raw();
  const expired = prepare(
    'SELECT count(*), count(CASE WHEN owner = ? AND quota_class = ? THEN 1 END) FROM ' +
      `(SELECT owner, quota_class FROM ${p}orders INDEXED BY ${p}orders_expiring WHERE live = 1 AND valid_to < ? LIMIT ?)`,
  ).raw();
  const valid = prepare(
    `SELECT count(*) FROM ${p}orders INDEXED BY ${p}orders_live_owner ` +
      'WHERE live = 1 AND owner = ? AND quota_class = ? AND valid_to >= ?',
  ).pluck();
  const insert = prepare(
    `INSERT INTO ${p}owners (owner, live_open, live_pending) VALUES (?, ?, ?) ON CONFLICT (owner) ` +
      'DO UPDATE SET live_open = live_open + excluded.live_open, live_pending = live_pending + excluded.live_pending',
  );
  const subtract = prepare(
    `UPDATE ${p}owners SET live_open = live_open - ?, live_pending = live_pending - ? WHERE owner = ?`,
  );

  /** Returns an upper bound without counting: it includes expired orders whose expiry is not recorded yet. */
  function upperBound(owner: Buffer, quotaClass: QuotaClass): number {
    const row = selectCounts.get(owner) as readonly number[] | undefined; // two counters, by quota class
    return row?.[QUOTA_CLASSES.indexOf(quotaClass)] ?? 0;
  }

  /** @param now - Seconds since 1970. */
  function count(owner: Buffer, quotaClass: QuotaClass, now: number): number {
    const code = QUOTA_CLASSES.indexOf(quotaClass);
    const all = upperBound(owner, quotaClass);
    if (all === 0) return 0;
    const [found, own] = expired.get(owner, code, now, MAX_EXPIRED_SCAN) as [number, number]; // two counts
    if (found < MAX_EXPIRED_SCAN) return all - own;
    return valid.get(owner, code, now) as number; // count(*)
  }

  return {
    upperBound,
    count,
    read: (address: Address, now: number): OrderCounts =>
      read('count orders', () => {
        const owner = toBytes(address);
        return { open: count(owner, 'open', now), pending: count(owner, 'pending', now) };
      }),
    /** Must run within a transaction. */
    add: (owner: Buffer, quotaClass: QuotaClass): void => void insert.run(owner, ...toCounts(quotaClass)),
    /** Must run within a transaction. */
    remove: (owner: Buffer, quotaClass: QuotaClass): void => void subtract.run(...toCounts(quotaClass), owner),
  };
}

/** Returns one order as values of the two counters. */
const toCounts = (quotaClass: QuotaClass) => (quotaClass === 'open' ? [1, 0] : [0, 1]);
