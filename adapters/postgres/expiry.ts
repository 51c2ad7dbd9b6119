import type { Hex, NewEvent, ReinstateRequest } from 'intentbook';
import { createExpiryEvent, emitsExpiry } from 'intentbook/store-kit';
import { getScheme } from '#internal';
import type { PgChainEventTable } from './chain-events.ts';
import { createEventRecorder } from './events.ts';
import { EXPIRED, getOwner, LIVE, toByteArray, toBytes, toUid } from './rows.ts';
import type { PostgresSession } from './session.ts';

type ChangedRow = readonly [key: Hex, validTo: number, scheme: number];

/**
 * Returns SQL for the order that expires next, and for the expired orders with their owners' locks. The planner cannot
 * estimate the number of rows from a parameter. Therefore the first query has none, and the second has a lower bound,
 * which makes the planner expect few rows. Both read only the necessary part of the index.
 */
export function expirySql(s: string): { readonly next: string; readonly due: string } {
  return {
    next: `SELECT valid_to FROM ${s}.orders WHERE ${LIVE} ORDER BY valid_to LIMIT 1`,
    due: dueSql(s, 'o.phase / 2 = 0 AND o.phase < 4 AND o.valid_to >= 0 AND o.valid_to < $1'),
  };
}

const dueSql = (s: string, condition: string) =>
  `SELECT o.key FROM ${s}.orders o JOIN ${s}.owners w ON w.owner = o.owner WHERE ${condition} ` +
  'ORDER BY o.valid_to LIMIT $2 FOR NO KEY UPDATE OF w SKIP LOCKED';

/**
 * Creates a function that records or reverts the expiry of orders, under the lock of their owners, like every change of
 * an order. It skips owners that are locked by another transaction, so that one owner never delays the others.
 *
 * @param due - The statement that finds and locks the orders.
 * @param condition - Checked again: an order may have changed before its owner was locked.
 */
function createPhaseChange(
  session: PostgresSession,
  chainEvents: PgChainEventTable,
  operation: string,
  due: string,
  condition: string,
  [phase, live]: readonly ['+', '-'] | readonly ['-', '+'],
) {
  const { schema: s, prepare, write } = session;
  const record = createEventRecorder(session);
  const selectDue = prepare<readonly [Hex]>(due);
  const change = prepare<ChangedRow>(
    `WITH changed AS (UPDATE ${s}.orders o SET phase = phase ${phase} 2 FROM unnest($1::bytea[]) k WHERE o.key = k ` +
      `AND ${condition} RETURNING key, owner, quota_class, valid_to, signing_scheme), ` +
      `counted AS (UPDATE ${s}.owners w SET live_open = w.live_open ${live} d.open, ` +
      `live_pending = w.live_pending ${live} d.pending FROM (SELECT owner, ` +
      'count(*) FILTER (WHERE quota_class = 0) AS open, count(*) FILTER (WHERE quota_class = 1) AS pending ' +
      'FROM changed GROUP BY owner) d WHERE w.owner = d.owner) ' +
      'SELECT key, valid_to, signing_scheme FROM changed ORDER BY valid_to, key',
  );

  return (time: number, limit: number, toEvent: (uid: Hex, validTo: number) => NewEvent): Promise<number> =>
    write(operation, async (run) => {
      const keys = (await run(selectDue, time, limit)).map(([key]) => toBytes(key));
      const changed = keys.length === 0 ? [] : await run(change, toByteArray(keys), time);
      const presigns = changed.filter(([, , scheme]) => getScheme(scheme) === 'presign').map(([key]) => toUid(key));
      const stored = await chainEvents.listByOrders(run, presigns);
      const events = changed.flatMap(([key, validTo, scheme]) => {
        const uid = toUid(key);
        const emits = emitsExpiry({ signingScheme: getScheme(scheme) }, stored.get(uid) ?? []);
        return emits ? [toEvent(uid, validTo)] : [];
      });
      if (events.length > 0) await record(run, events);
      return changed.length;
    });
}

/** Creates a function that records the expiry of orders. */
export function createExpirySweeper(
  session: PostgresSession,
  chainEvents: PgChainEventTable,
): (now: number, limit: number) => Promise<number> {
  const { next, due } = expirySql(session.schema);
  const selectNext = session.prepare<readonly [validTo: number]>(next);
  const condition = 'phase < 2 AND valid_to < $2';
  const expire = createPhaseChange(session, chainEvents, 'record expired orders', due, condition, ['+', '-']);

  return async (now, limit) => {
    // Most sweeps find no expired order and need no transaction.
    const [first] = await session.read('find expired orders', (run) => run(selectNext));
    return first === undefined || first[0] >= now ? 0 : expire(now, limit, createExpiryEvent);
  };
}

/** Creates a function that reverts the recorded expiries of orders that are still valid. */
export function createReinstater(
  session: PostgresSession,
  chainEvents: PgChainEventTable,
): (request: ReinstateRequest) => Promise<number> {
  const { schema: s, prepare, read } = session;
  const selectLast = prepare<readonly [validTo: number]>(
    `SELECT valid_to FROM ${s}.orders WHERE ${EXPIRED} ORDER BY valid_to DESC LIMIT 1`,
  );
  const due = dueSql(s, `o.phase / 2 = 1 AND o.phase < 4 AND o.valid_to >= $1 AND o.valid_to <= ${2 ** 32}`);
  const condition = 'phase IN (2, 3) AND valid_to >= $2';
  const reinstate = createPhaseChange(session, chainEvents, 'reinstate orders', due, condition, ['-', '+']);

  return async ({ validFrom, at, limit }) => {
    const [newest] = await read('find orders to reinstate', (run) => run(selectLast));
    if (newest === undefined || newest[0] < validFrom) return 0;
    return reinstate(validFrom, limit, (uid) => ({ type: 'reinstated', uid, owner: getOwner(uid), at }));
  };
}
