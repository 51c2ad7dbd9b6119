import type { Hex, OrderChainEvent, ReinstateRequest } from 'intentbook';
import { createExpiryEvent, emitsExpiry } from 'intentbook/store-kit';
import { getQuotaClass, getScheme } from '#internal';
import type { EventTable } from './events.ts';
import type { OwnerCounts } from './order-projection.ts';
import { bufferToHex, isExpiryRecorded } from './rows.ts';
import type { SqliteSession } from './session.ts';

type ExpiryRow = readonly [id: number, uid: Buffer, owner: Buffer, validTo: number, scheme: number, quotaClass: number];
const COLUMNS = 'id, uid, owner, valid_to, signing_scheme, quota_class';

const liveBefore = (p: string) => `${p}orders INDEXED BY ${p}orders_expiring WHERE live = 1 AND valid_to < ?`;

type ListChainEvents = (uid: Hex) => readonly OrderChainEvent[];

/**
 * Creates the search for live orders that have expired at a time in seconds. Most sweeps find none: they need no
 * transaction and no write thread.
 */
export function createExpirySearch({ prefix: p, prepare, read }: SqliteSession) {
  const any = prepare(`SELECT 1 FROM ${liveBefore(p)} LIMIT 1`).pluck();
  return (now: number): boolean => read('find expired orders', () => any.get(now)) !== undefined;
}

/** Creates a function that records the expiry of orders. */
export function createExpirySweeper(
  { prefix: p, prepare, write }: SqliteSession,
  hasExpired: ReturnType<typeof createExpirySearch>,
  owners: OwnerCounts,
  listChainEvents: ListChainEvents,
  events: EventTable,
): (now: number, limit: number) => number {
  const due = prepare(`SELECT ${COLUMNS} FROM ${liveBefore(p)} ORDER BY valid_to, uid LIMIT ?`).raw();
  const recordExpiry = prepare(`UPDATE ${p}orders SET live = 0 WHERE id = ?`);

  return (now, limit) => {
    if (!hasExpired(now)) return 0;
    return write('record expired orders', () => {
      const rows = due.all(now, limit) as ExpiryRow[]; // the columns selected
      for (const [id, uid, owner, validTo, scheme, quotaClass] of rows) {
        recordExpiry.run(id);
        owners.remove(owner, getQuotaClass(quotaClass));
        const signingScheme = getScheme(scheme);
        const hex = bufferToHex(uid);
        if (emitsExpiry({ signingScheme }, listChainEvents(hex))) events.record(createExpiryEvent(hex, validTo));
      }
      return rows.length;
    });
  };
}

export type LogReinstatement = ReturnType<typeof createReinstatementLog>;

/** Creates a function that logs that a recorded expiry is reverted, if it was logged. It runs within a transaction. */
export function createReinstatementLog(listChainEvents: ListChainEvents, events: EventTable) {
  return (uid: Buffer, owner: Buffer, signingScheme: ReturnType<typeof getScheme>, at: number): void => {
    if (emitsExpiry({ signingScheme }, listChainEvents(bufferToHex(uid)))) events.append('reinstated', uid, owner, at);
  };
}

/** Creates a function that reverts recorded expiries. */
export function createReinstater(
  { prefix: p, prepare, read, write }: SqliteSession,
  owners: OwnerCounts,
  logReinstatement: LogReinstatement,
): (request: ReinstateRequest) => number {
  const expired = `${p}orders INDEXED BY ${p}orders_expired_validity WHERE ${isExpiryRecorded} AND valid_to >= ?`;
  const any = prepare(`SELECT 1 FROM ${expired} LIMIT 1`).pluck();
  const due = prepare(`SELECT ${COLUMNS} FROM ${expired} ORDER BY valid_to, uid LIMIT ?`).raw();
  const reinstate = prepare(`UPDATE ${p}orders SET live = 1 WHERE id = ?`);

  return ({ validFrom, at, limit }) => {
    if (read('find orders to reinstate', () => any.get(validFrom)) === undefined) return 0;
    return write('reinstate orders', () => {
      const rows = due.all(validFrom, limit) as ExpiryRow[]; // the columns selected
      for (const [id, uid, owner, , scheme, quotaClass] of rows) {
        reinstate.run(id);
        owners.add(owner, getQuotaClass(quotaClass));
        logReinstatement(uid, owner, getScheme(scheme), at);
      }
      return rows.length;
    });
  };
}
