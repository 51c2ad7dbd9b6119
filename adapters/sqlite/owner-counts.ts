import type { Address, Budget, OrderCounts } from 'intentbook';
import { BUDGETS, toBytes } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** How many live orders an owner has. */
export interface OwnerCounts {
  /** At least as many as there are, at once: the expired are still among them. */
  atMost(owner: Buffer, budget: Budget): number;
  /** @param now seconds since 1970. */
  count(owner: Buffer, budget: Budget, now: number): number;
  read(owner: Address, now: number): OrderCounts;
  /** Within a transaction. */
  add(owner: Buffer, budget: Budget): void;
  /** Within a transaction. */
  remove(owner: Buffer, budget: Budget): void;
}

/** Past this many expired orders that still count as live, it is cheaper to count those that really are. */
const EXPIRED_TO_SUBTRACT = 1000;

/**
 * Counts are kept by what is known without a clock, so the expired ones are taken off when asked. Where they are many,
 * the others are counted instead, which a cap bounds: neither way grows with what an owner has ever done.
 */
export function createOwnerCounts({ prefix: p, prepare, read }: SqliteSession): OwnerCounts {
  const kept = prepare(`SELECT live_open, live_pending FROM ${p}owners WHERE owner = ?`).raw();
  const live = `${p}orders INDEXED BY ${p}orders_live_expiry WHERE live = 1 AND owner = ? AND budget = ?`;
  const expired = prepare(`SELECT count(*) FROM (SELECT 1 FROM ${live} AND valid_to < ? LIMIT ?)`).pluck();
  const valid = prepare(`SELECT count(*) FROM ${live} AND valid_to >= ?`).pluck();
  const insert = prepare(
    `INSERT INTO ${p}owners (owner, live_open, live_pending) VALUES (?, ?, ?) ON CONFLICT (owner) ` +
      'DO UPDATE SET live_open = live_open + excluded.live_open, live_pending = live_pending + excluded.live_pending',
  );
  const subtract = prepare(
    `UPDATE ${p}owners SET live_open = live_open - ?, live_pending = live_pending - ? WHERE owner = ?`,
  );

  function atMost(owner: Buffer, budget: Budget): number {
    const row = kept.get(owner) as readonly number[] | undefined; // two counters, by budget
    return row?.[BUDGETS.indexOf(budget)] ?? 0;
  }

  function count(owner: Buffer, budget: Budget, now: number): number {
    const code = BUDGETS.indexOf(budget);
    const all = atMost(owner, budget);
    if (all === 0) return 0;
    const gone = expired.get(owner, code, now, EXPIRED_TO_SUBTRACT) as number; // count(*)
    return gone < EXPIRED_TO_SUBTRACT ? all - gone : (valid.get(owner, code, now) as number); // count(*)
  }

  return {
    atMost,
    count,
    read: (address, now) =>
      read('count orders', () => {
        const owner = toBytes(address);
        return { open: count(owner, 'open', now), pending: count(owner, 'pending', now) };
      }),
    add: (owner, budget) => void insert.run(owner, ...share(budget)),
    remove: (owner, budget) => void subtract.run(...share(budget), owner),
  };
}

/** One order, as the two counters see it. */
const share = (budget: Budget) => (budget === 'open' ? [1, 0] : [0, 1]);
