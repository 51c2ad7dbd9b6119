import type { Hex, ReinstateRequest } from 'intentbook';
import { createExpiryEvent, emitsExpiry } from 'intentbook/store-kit';
import type { PgChainEventTable } from './chain-events.ts';

import type { Query } from './query.ts';
import { EVENT_TYPES, EXPIRED, getScheme, LIVE, toByteArray, toKey, toNumberArray, toUid } from './rows.ts';
import type { PostgresSession } from './session.ts';

type ExpiredRow = readonly [key: Hex, validTo: number, scheme: number];

/**
 * Returns SQL for the order that expires next, and for the expired orders with their owners' locks. The planner cannot
 * estimate the number of rows from a parameter. Therefore the first query has none, and the second has a lower bound,
 * which makes the planner expect few rows. Both read only the necessary part of the index.
 */
export function expirySql(s: string): { readonly next: string; readonly due: string } {
  return {
    next: `SELECT valid_to FROM ${s}.orders WHERE ${LIVE} ORDER BY valid_to LIMIT 1`,
    due:
      `SELECT o.key FROM ${s}.orders o JOIN ${s}.owners w ON w.owner = o.owner ` +
      'WHERE o.phase / 2 = 0 AND o.phase < 4 AND o.valid_to >= 0 AND o.valid_to < $1 ' +
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
    `WITH expired AS (UPDATE ${s}.orders o SET phase = phase + 2 FROM unnest($1::bytea[]) k WHERE o.key = k ` +
      'AND phase < 2 AND valid_to < $2 RETURNING key, owner, quota_class, valid_to, signing_scheme), ' +
      `counted AS (UPDATE ${s}.owners w SET live_open = w.live_open - d.open, live_pending = w.live_pending - d.pending ` +
      'FROM (SELECT owner, count(*) FILTER (WHERE quota_class = 0) AS open, count(*) FILTER (WHERE quota_class = 1) AS pending ' +
      'FROM expired GROUP BY owner) d WHERE w.owner = d.owner) ' +
      'SELECT key, valid_to, signing_scheme FROM expired ORDER BY valid_to, key',
  );
  const record = prepare(
    `INSERT INTO ${s}.events (xid, type, key, at) SELECT pg_current_xact_id()::text::bigint, ` +
      `${EVENT_TYPES.indexOf('expired')}, key, at ` +
      'FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY e (key, at, ordinal) ORDER BY e.ordinal',
  );

  return async (now, limit) => {
    // Most sweeps find no expired order and need no transaction.
    const [first] = await read('find expired orders', (run) => run(next));
    if (first === undefined || first[0] >= now) return 0;
    return write('record expired orders', async (run) => {
      const keys = (await run(due, now, limit)).map(([key]) => `\\x${key.slice(2)}`);
      const expired = keys.length === 0 ? [] : await run(recordExpiry, toByteArray(keys), now);
      const presigns = expired.filter(([, , scheme]) => getScheme(scheme) === 'presign').map(([key]) => toUid(key));
      const stored = await chainEvents.listByOrders(run, presigns);
      const events = expired.flatMap(([key, validTo, scheme]) => {
        const uid = toUid(key);
        const emits = emitsExpiry({ signingScheme: getScheme(scheme) }, stored.get(uid) ?? []);
        return emits ? [createExpiryEvent(uid, validTo)] : [];
      });
      if (events.length > 0) {
        await run(record, toByteArray(events.map(({ uid }) => toKey(uid))), toNumberArray(events.map(({ at }) => at)));
      }
      return expired.length;
    });
  };
}

/** Creates a function that reverts the recorded expiries of orders that are still valid, under their owners' locks. */
export function createReinstater(
  { schema: s, prepare, read, write }: PostgresSession,
  chainEvents: PgChainEventTable,
): (request: ReinstateRequest) => Promise<number> {
  const last = prepare<readonly [validTo: number]>(
    `SELECT valid_to FROM ${s}.orders WHERE ${EXPIRED} ORDER BY valid_to DESC LIMIT 1`,
  );
  const due = prepare<readonly [Hex]>(
    `SELECT o.key FROM ${s}.orders o JOIN ${s}.owners w ON w.owner = o.owner ` +
      `WHERE o.phase / 2 = 1 AND o.phase < 4 AND o.valid_to >= $1 AND o.valid_to <= ${2 ** 32} ` +
      'ORDER BY o.valid_to LIMIT $2 FOR NO KEY UPDATE OF w SKIP LOCKED',
  );
  const reinstate = prepare<readonly [key: Hex, scheme: number]>(
    `WITH live AS (UPDATE ${s}.orders o SET phase = phase - 2 FROM unnest($1::bytea[]) k WHERE o.key = k AND ${EXPIRED} ` +
      'RETURNING key, owner, quota_class, valid_to, signing_scheme), ' +
      `counted AS (UPDATE ${s}.owners w SET live_open = w.live_open + d.open, live_pending = w.live_pending + d.pending ` +
      'FROM (SELECT owner, count(*) FILTER (WHERE quota_class = 0) AS open, count(*) FILTER (WHERE quota_class = 1) AS pending ' +
      'FROM live GROUP BY owner) d WHERE w.owner = d.owner) ' +
      'SELECT key, signing_scheme FROM live ORDER BY valid_to, key',
  );
  const record = prepare(
    `INSERT INTO ${s}.events (xid, type, key, at) SELECT pg_current_xact_id()::text::bigint, ` +
      `${EVENT_TYPES.indexOf('reinstated')}, key, $2 ` +
      'FROM unnest($1::bytea[]) WITH ORDINALITY e (key, ordinal) ORDER BY e.ordinal',
  );

  async function reinstateAll(run: Query, keys: readonly string[], at: number): Promise<number> {
    const rows = await run(reinstate, toByteArray(keys));
    const stored = await chainEvents.listByOrders(
      run,
      rows.map(([key]) => toUid(key)),
    );
    const logged = rows.flatMap(([key, scheme]) => {
      const uid = toUid(key);
      return emitsExpiry({ signingScheme: getScheme(scheme) }, stored.get(uid) ?? []) ? [toKey(uid)] : [];
    });
    if (logged.length > 0) await run(record, toByteArray(logged), at);
    return rows.length;
  }

  return async ({ validFrom, at, limit }) => {
    const [newest] = await read('find orders to reinstate', (run) => run(last));
    if (newest === undefined || newest[0] < validFrom) return 0;
    return write('reinstate orders', async (run) => {
      const keys = (await run(due, validFrom, limit)).map(([key]) => `\\x${key.slice(2)}`);
      return keys.length === 0 ? 0 : reinstateAll(run, keys, at);
    });
  };
}
