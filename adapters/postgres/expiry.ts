import type { Hex } from 'intentbook';
import { expiryOf, tellsExpiry } from 'intentbook/adapter';
import type { Facts } from './facts.ts';
import { BUDGETS, SCHEMES, toBytes } from './rows.ts';
import type { Session } from './session.ts';

type SweptRow = readonly [uid: Hex, validTo: number, scheme: number];

/**
 * Sweeps up expired orders. An order is swept under its owner's lock, like every change of one. A sweep waits for nobody:
 * it passes over owners who are being written to, so that it never holds up one owner because of another.
 */
export function expiryOver(
  { schema: s, prepare, read, write }: Session,
  facts: Facts,
): (now: number, limit: number) => Promise<number> {
  const any = prepare(`SELECT 1 FROM ${s}.orders WHERE live AND valid_to < $1 LIMIT 1`);
  const due = prepare<readonly [Hex]>(
    `SELECT o.uid FROM ${s}.orders o JOIN ${s}.owners w ON w.owner = o.owner WHERE o.live AND o.valid_to < $1 ` +
      'ORDER BY o.valid_to LIMIT $2 FOR NO KEY UPDATE OF w SKIP LOCKED',
  );
  // What was due a moment ago is looked at again: it may have been changed before its owner was locked.
  const sweep = prepare<SweptRow>(
    `WITH swept AS (UPDATE ${s}.orders SET live = false WHERE uid = ANY($1::bytea[]) AND live AND valid_to < $2 ` +
      'RETURNING uid, owner, budget, valid_to, signing_scheme), ' +
      `counted AS (UPDATE ${s}.owners w SET live_open = w.live_open - d.open, live_pending = w.live_pending - d.pending ` +
      `FROM (SELECT owner, count(*) FILTER (WHERE budget = ${BUDGETS.indexOf('open')}) AS open, ` +
      `count(*) FILTER (WHERE budget = ${BUDGETS.indexOf('pending')}) AS pending FROM swept GROUP BY owner) d ` +
      'WHERE w.owner = d.owner) ' +
      'SELECT uid, valid_to, signing_scheme FROM swept ORDER BY valid_to, uid',
  );
  const record = prepare(
    `INSERT INTO ${s}.event_queue (type, uid, owner, at) SELECT 'expired', uid, owner, at FROM ` +
      'unnest($1::bytea[], $2::bytea[], $3::bigint[]) WITH ORDINALITY e (uid, owner, at, place) ORDER BY e.place',
  );

  return async (now, limit) => {
    // Most sweeps find nothing, and need no transaction for it.
    if ((await read('look for expired orders', (run) => run(any, now))).length === 0) return 0;
    return write('sweep up expired orders', async (run) => {
      const uids = (await run(due, now, limit)).map(([uid]) => uid);
      const swept = uids.length === 0 ? [] : await run(sweep, uids.map(toBytes), now);
      const presigns = swept.filter(([, , scheme]) => SCHEMES[scheme] === 'presign').map(([uid]) => uid);
      const said = await facts.ofOrders(run, presigns);
      const events = swept.flatMap(([uid, validTo, scheme]) => {
        const signingScheme = SCHEMES[scheme] as (typeof SCHEMES)[number]; // the table checks the range
        return tellsExpiry({ signingScheme }, said.get(uid) ?? []) ? [expiryOf(uid, validTo)] : [];
      });
      if (events.length > 0) {
        await run(
          record,
          events.map(({ uid }) => toBytes(uid)),
          events.map(({ owner }) => toBytes(owner)),
          events.map(({ at }) => at),
        );
      }
      return swept.length;
    });
  };
}
