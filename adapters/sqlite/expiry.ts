import type { OrderChainEvent } from 'intentbook';
import { createExpiryEvent, emitsExpiry } from 'intentbook/store-kit';
import type { EventTable } from './events.ts';
import type { OwnerCounts } from './owner-counts.ts';
import { BUDGETS, SCHEMES, toHex } from './rows.ts';
import type { SqliteSession } from './session.ts';

type DueRow = readonly [id: number, uid: Buffer, owner: Buffer, validTo: number, scheme: number, budget: number];

/** Sweeps up expired orders. */
export function createExpirySweeper(
  { prefix: p, prepare, read, write }: SqliteSession,
  owners: OwnerCounts,
  factsOf: (uid: Buffer) => readonly OrderChainEvent[],
  events: EventTable,
): (now: number, limit: number) => number {
  const live = `${p}orders INDEXED BY ${p}orders_expiring WHERE live = 1 AND valid_to < ?`;
  const any = prepare(`SELECT 1 FROM ${live} LIMIT 1`).pluck();
  const due = prepare(
    `SELECT id, uid, owner, valid_to, signing_scheme, budget FROM ${live} ORDER BY valid_to, uid LIMIT ?`,
  ).raw();
  const sweep = prepare(`UPDATE ${p}orders SET live = 0 WHERE id = ?`);

  return (now, limit) => {
    // Most sweeps find nothing, and need not wait for the disk.
    if (read('look for expired orders', () => any.get(now)) === undefined) return 0;
    return write('sweep up expired orders', () => {
      const rows = due.all(now, limit) as DueRow[]; // the columns selected
      for (const [id, uid, owner, validTo, scheme, budget] of rows) {
        sweep.run(id);
        // The table checks the ranges.
        owners.remove(owner, BUDGETS[budget] as (typeof BUDGETS)[number]);
        const signingScheme = SCHEMES[scheme] as (typeof SCHEMES)[number];
        if (emitsExpiry({ signingScheme }, factsOf(uid))) events.record(createExpiryEvent(toHex(uid), validTo));
      }
      return rows.length;
    });
  };
}
