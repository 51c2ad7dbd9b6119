import type { Hex } from 'intentbook';
import { createExpiryEvent, emitsExpiry } from 'intentbook/store-kit';
import type { PgChainEventTable } from './chain-events.ts';
import { BUDGETS, SCHEMES, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

type SweptRow = readonly [uid: Hex, validTo: number, scheme: number];

/**
 * The order that expires next, and those that have expired with their owners' locks. A parameter tells the planner nothing of
 * how many have: the first asks for none, and a lower bound has it expect few. Both walk the index as far as is needed.
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
 * Sweeps up expired orders. An order is expiryRecorded under its owner's lock, like every change of one. A sweep waits for nobody:
 * it passes over owners who are being written to, so that it never holds up one owner because of another.
 */
export function createExpirySweeper(
  { schema: s, prepare, read, write }: PostgresSession,
  facts: PgChainEventTable,
): (now: number, limit: number) => Promise<number> {
  const sql = expirySql(s);
  const next = prepare<readonly [validTo: number]>(sql.next);
  const due = prepare<readonly [Hex]>(sql.due);
  // What was due a moment ago is looked at again: it may have been changed before its owner was locked.
  const sweep = prepare<SweptRow>(
    `WITH expiryRecorded AS (UPDATE ${s}.orders SET live = false WHERE uid = ANY($1::bytea[]) AND live AND valid_to < $2 ` +
      'RETURNING uid, owner, budget, valid_to, signing_scheme), ' +
      `counted AS (UPDATE ${s}.owners w SET live_open = w.live_open - d.open, live_pending = w.live_pending - d.pending ` +
      `FROM (SELECT owner, count(*) FILTER (WHERE budget = ${BUDGETS.indexOf('open')}) AS open, ` +
      `count(*) FILTER (WHERE budget = ${BUDGETS.indexOf('pending')}) AS pending FROM expiryRecorded GROUP BY owner) d ` +
      'WHERE w.owner = d.owner) ' +
      'SELECT uid, valid_to, signing_scheme FROM expiryRecorded ORDER BY valid_to, uid',
  );
  const record = prepare(
    `INSERT INTO ${s}.event_queue (type, uid, owner, at) SELECT 'expired', uid, owner, at FROM ` +
      'unnest($1::bytea[], $2::bytea[], $3::bigint[]) WITH ORDINALITY e (uid, owner, at, place) ORDER BY e.place',
  );

  return async (now, limit) => {
    // Most sweeps find nothing, and need no transaction for it.
    const [first] = await read('look for expired orders', (run) => run(next));
    if (first === undefined || first[0] >= now) return 0;
    return write('sweep up expired orders', async (run) => {
      const uids = (await run(due, now, limit)).map(([uid]) => uid);
      const expiryRecorded = uids.length === 0 ? [] : await run(sweep, uids.map(toBytes), now);
      const presigns = expiryRecorded.filter(([, , scheme]) => SCHEMES[scheme] === 'presign').map(([uid]) => uid);
      const said = await facts.ofOrders(run, presigns);
      const events = expiryRecorded.flatMap(([uid, validTo, scheme]) => {
        const signingScheme = SCHEMES[scheme] as (typeof SCHEMES)[number]; // the table checks the range
        return emitsExpiry({ signingScheme }, said.get(uid) ?? []) ? [createExpiryEvent(uid, validTo)] : [];
      });
      if (events.length > 0) {
        await run(
          record,
          events.map(({ uid }) => toBytes(uid)),
          events.map(({ owner }) => toBytes(owner)),
          events.map(({ at }) => at),
        );
      }
      return expiryRecorded.length;
    });
  };
}
