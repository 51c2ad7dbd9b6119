import type { OrderChainEvent } from 'intentbook';
import { createExpiryEvent, emitsExpiry } from 'intentbook/store-kit';
import type { EventTable } from './events.ts';
import type { OwnerCounts } from './owner-counts.ts';
import { BUDGETS, SCHEMES, toHex } from './rows.ts';
import type { SqliteSession } from './session.ts';

type DueRow = readonly [id: number, uid: Buffer, owner: Buffer, validTo: number, scheme: number, budget: number];

/** Creates a function that records the expiry of orders. */
export function createExpirySweeper(
  { prefix: p, prepare, read, write }: SqliteSession,
  owners: OwnerCounts,
  listChainEvents: (uid: Buffer) => readonly OrderChainEvent[],
  events: EventTable,
): (now: number, limit: number) => number {
  const live = `${p}orders INDEXED BY ${p}orders_expiring WHERE live = 1 AND valid_to < ?`;
  const any = prepare(`SELECT 1 FROM ${live} LIMIT 1`).pluck();
  const due = prepare(
    `SELECT id, uid, owner, valid_to, signing_scheme, budget FROM ${live} ORDER BY valid_to, uid LIMIT ?`,
  ).raw();
  const recordExpiry = prepare(`UPDATE ${p}orders SET live = 0 WHERE id = ?`);

  return (now, limit) => {
    // Most sweeps find no expired order and need no write transaction.
    if (read('find expired orders', () => any.get(now)) === undefined) return 0;
    return write('record expired orders', () => {
      const rows = due.all(now, limit) as DueRow[]; // the columns selected
      for (const [id, uid, owner, validTo, scheme, budget] of rows) {
        recordExpiry.run(id);
        // The table checks the ranges.
        owners.remove(owner, BUDGETS[budget] as (typeof BUDGETS)[number]);
        const signingScheme = SCHEMES[scheme] as (typeof SCHEMES)[number];
        if (emitsExpiry({ signingScheme }, listChainEvents(uid))) events.record(createExpiryEvent(toHex(uid), validTo));
      }
      return rows.length;
    });
  };
}
