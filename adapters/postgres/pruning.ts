import type { Hex } from 'intentbook';
import { toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/**
 * Returns SQL for the oldest order, and for the orders to remove with their owners' locks. As for expiry, the queries
 * are written so that the planner needs no estimates: see expiry.ts.
 */
export function pruningSql(s: string): { readonly oldest: string; readonly due: string } {
  return {
    oldest: `SELECT created FROM ${s}.orders ORDER BY created, uid LIMIT 1`,
    due:
      `SELECT o.uid FROM ${s}.orders o JOIN ${s}.owners w ON w.owner = o.owner ` +
      'WHERE o.created >= 0 AND o.created < $1 AND coalesce(NOT o.live AND o.valid_to < $2, false) ' +
      'ORDER BY o.created, o.uid LIMIT $3 FOR NO KEY UPDATE OF w SKIP LOCKED',
  };
}

/**
 * Creates a function that removes orders that ended before a time, each under its owner's lock. It skips owners that
 * are locked by another transaction. The orders are found by creation date, which has an index.
 */
export function createPruner({
  schema: s,
  prepare,
  read,
  write,
}: PostgresSession): (before: number, limit: number) => Promise<number> {
  const sql = pruningSql(s);
  const oldest = prepare<readonly [created: number]>(sql.oldest);
  const due = prepare<readonly [Hex]>(sql.due);
  // The condition is checked again: an order may be live again before its owner was locked.
  const remove = prepare<readonly [Hex]>(
    `WITH removed AS (DELETE FROM ${s}.orders WHERE uid = ANY($1::bytea[]) AND NOT live RETURNING uid), ` +
      `quotes AS (DELETE FROM ${s}.order_quotes WHERE uid IN (SELECT uid FROM removed)) SELECT uid FROM removed`,
  );

  return async (before, limit) => {
    const [first] = await read('find old orders', (run) => run(oldest));
    if (first === undefined || first[0] >= before * 1000) return 0;
    return write('remove old orders', async (run) => {
      const uids = (await run(due, before * 1000, before, limit)).map(([uid]) => uid);
      return uids.length === 0 ? 0 : (await run(remove, uids.map(toBytes))).length;
    });
  };
}
