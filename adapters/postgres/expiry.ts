import type { Hex, ReinstateRequest } from 'intentbook';
import { createExpiryEvent, emitsExpiry } from 'intentbook/store-kit';
import type { PgChainEventTable } from './chain-events.ts';
import type { Query } from './query.ts';
import { BUDGETS, isExpiryRecorded, SCHEMES, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

type ExpiredRow = readonly [uid: Hex, validTo: number, scheme: number];

/**
 * Returns SQL for the order that expires next, and for the expired orders with their owners' locks. The planner cannot
 * estimate the number of rows from a parameter. Therefore the first query has none, and the second has a lower bound,
 * which makes the planner expect few rows. Both read only the necessary part of the index.
 */
export function expirySql(s: string): { readonly next: string; readonly due: string } {
  return {
    next: `SELECT valid_to FROM ${s}.orders WHERE live ORDER BY valid_to LIMIT 1`,
    due:
      `SELECT o.uid FROM ${s}.orders o JOIN ${s}.owners w ON w.owner = o.owner ` +
      'WHERE o.live AND o.valid_to >= 0 AND o.valid_to < $1 ' +
      'ORDER BY o.valid_to LIMIT $2 FOR NO KEY UPDATE OF w SKIP LOCKED',
  };
}

/**
 * Creates a function that records the expiry of orders, under the lock of their owners, like every change of an order.
 * It skips owners that are locked by another transaction, so that one owner never delays the others.
 */
export function createExpirySweeper(
  { schema: s, prepare, read, write }: PostgresSession,
  chainEvents: PgChainEventTable,
): (now: number, limit: number) => Promise<number> {
  const sql = expirySql(s);
  const next = prepare<readonly [validTo: number]>(sql.next);
  const due = prepare<readonly [Hex]>(sql.due);
  // The conditions are checked again: an order may have changed before its owner was locked.
  const recordExpiry = prepare<ExpiredRow>(
    `WITH expired AS (UPDATE ${s}.orders SET live = false WHERE uid = ANY($1::bytea[]) AND live AND valid_to < $2 ` +
      'RETURNING uid, owner, budget, valid_to, signing_scheme), ' +
      `counted AS (UPDATE ${s}.owners w SET live_open = w.live_open - d.open, live_pending = w.live_pending - d.pending ` +
      `FROM (SELECT owner, count(*) FILTER (WHERE budget = ${BUDGETS.indexOf('open')}) AS open, ` +
      `count(*) FILTER (WHERE budget = ${BUDGETS.indexOf('pending')}) AS pending FROM expired GROUP BY owner) d ` +
      'WHERE w.owner = d.owner) ' +
      'SELECT uid, valid_to, signing_scheme FROM expired ORDER BY valid_to, uid',
  );
  const record = prepare(
    `INSERT INTO ${s}.event_queue (type, uid, owner, at) SELECT 'expired', uid, owner, at FROM ` +
      'unnest($1::bytea[], $2::bytea[], $3::bigint[]) WITH ORDINALITY e (uid, owner, at, ordinal) ORDER BY e.ordinal',
  );

  return async (now, limit) => {
    // Most sweeps find no expired order and need no transaction.
    const [first] = await read('find expired orders', (run) => run(next));
    if (first === undefined || first[0] >= now) return 0;
    return write('record expired orders', async (run) => {
      const uids = (await run(due, now, limit)).map(([uid]) => uid);
      const expired = uids.length === 0 ? [] : await run(recordExpiry, uids.map(toBytes), now);
      const presigns = expired.filter(([, , scheme]) => SCHEMES[scheme] === 'presign').map(([uid]) => uid);
      const stored = await chainEvents.listByOrders(run, presigns);
      const events = expired.flatMap(([uid, validTo, scheme]) => {
        const signingScheme = SCHEMES[scheme] as (typeof SCHEMES)[number]; // the table checks the range
        return emitsExpiry({ signingScheme }, stored.get(uid) ?? []) ? [createExpiryEvent(uid, validTo)] : [];
      });
      if (events.length > 0) {
        await run(
          record,
          events.map(({ uid }) => toBytes(uid)),
          events.map(({ owner }) => toBytes(owner)),
          events.map(({ at }) => at),
        );
      }
      return expired.length;
    });
  };
}

/** Reverts the recorded expiries of orders, under the locks of their owners. Returns the number of orders. */
export type ReinstateOrders = (run: Query, uids: readonly Hex[], at: number) => Promise<number>;

/** Creates the function that reverts recorded expiries. It logs `reinstated` for each expiry that was logged. */
export function createReinstateOrders(
  { schema: s, prepare }: PostgresSession,
  chainEvents: PgChainEventTable,
): ReinstateOrders {
  const reinstate = prepare<readonly [uid: Hex, owner: Hex, scheme: number]>(
    `WITH live AS (UPDATE ${s}.orders SET live = true WHERE uid = ANY($1::bytea[]) AND ${isExpiryRecorded} ` +
      'RETURNING uid, owner, budget, valid_to, signing_scheme), ' +
      `counted AS (UPDATE ${s}.owners w SET live_open = w.live_open + d.open, live_pending = w.live_pending + d.pending ` +
      `FROM (SELECT owner, count(*) FILTER (WHERE budget = ${BUDGETS.indexOf('open')}) AS open, ` +
      `count(*) FILTER (WHERE budget = ${BUDGETS.indexOf('pending')}) AS pending FROM live GROUP BY owner) d ` +
      'WHERE w.owner = d.owner) ' +
      'SELECT uid, owner, signing_scheme FROM live ORDER BY valid_to, uid',
  );
  const record = prepare(
    `INSERT INTO ${s}.event_queue (type, uid, owner, at) SELECT 'reinstated', uid, owner, $3 FROM ` +
      'unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY e (uid, owner, ordinal) ORDER BY e.ordinal',
  );

  return async (run, uids, at) => {
    const rows = await run(reinstate, uids.map(toBytes));
    const stored = await chainEvents.listByOrders(
      run,
      rows.map(([uid]) => uid),
    );
    const logged = rows.filter(([uid, , scheme]) => {
      const signingScheme = SCHEMES[scheme] as (typeof SCHEMES)[number]; // the table checks the range
      return emitsExpiry({ signingScheme }, stored.get(uid) ?? []);
    });
    if (logged.length > 0) {
      await run(
        record,
        logged.map(([uid]) => toBytes(uid)),
        logged.map(([, owner]) => toBytes(owner)),
        at,
      );
    }
    return rows.length;
  };
}

/** Creates a function that reverts the recorded expiries of orders that are still valid. */
export function createReinstater(
  { schema: s, prepare, read, write }: PostgresSession,
  reinstateOrders: ReinstateOrders,
): (request: ReinstateRequest) => Promise<number> {
  const last = prepare<readonly [validTo: number]>(
    `SELECT valid_to FROM ${s}.orders WHERE ${isExpiryRecorded} ORDER BY valid_to DESC LIMIT 1`,
  );
  const due = prepare<readonly [Hex]>(
    `SELECT o.uid FROM ${s}.orders o JOIN ${s}.owners w ON w.owner = o.owner ` +
      `WHERE NOT o.live AND o.state < 2 AND o.valid_to >= $1 AND o.valid_to <= ${2 ** 32} ` +
      'ORDER BY o.valid_to LIMIT $2 FOR NO KEY UPDATE OF w SKIP LOCKED',
  );
  return async ({ validFrom, at, limit }) => {
    const [newest] = await read('find orders to reinstate', (run) => run(last));
    if (newest === undefined || newest[0] < validFrom) return 0;
    return write('reinstate orders', async (run) => {
      const uids = (await run(due, validFrom, limit)).map(([uid]) => uid);
      return uids.length === 0 ? 0 : reinstateOrders(run, uids, at);
    });
  };
}
