import type { Hex, PruneRequest } from 'intentbook';
import { unpackUid } from 'intentbook/store-kit';
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
}: PostgresSession): (request: PruneRequest) => Promise<number> {
  const sql = pruningSql(s);
  const oldest = prepare<readonly [created: number]>(sql.oldest);
  const due = prepare<readonly [Hex]>(sql.due);
  // The condition is checked again: an order may be live again before its owner was locked.
  const remove = prepare<readonly [uid: Hex, cancelledOffChain: boolean]>(
    `WITH removed AS (DELETE FROM ${s}.orders WHERE uid = ANY($1::bytea[]) AND NOT live RETURNING uid, cancelled_off_chain), ` +
      `quotes AS (DELETE FROM ${s}.order_quotes WHERE uid IN (SELECT uid FROM removed)) SELECT uid, cancelled_off_chain FROM removed`,
  );
  const addTombstones = prepare(
    `INSERT INTO ${s}.tombstones (valid_to, uid) SELECT * FROM unnest($1::bigint[], $2::bytea[])`,
  );
  const removeTombstones = prepare(
    `DELETE FROM ${s}.tombstones WHERE uid IN ` +
      `(SELECT uid FROM ${s}.tombstones WHERE valid_to < $1 ORDER BY valid_to LIMIT $2 FOR UPDATE SKIP LOCKED)`,
  );

  return async ({ before, limit, tombstonesBefore }) => {
    if (tombstonesBefore !== undefined) {
      await write('remove old tombstones', async (run) => void (await run(removeTombstones, tombstonesBefore, limit)));
    }
    const [first] = await read('find old orders', (run) => run(oldest));
    if (first === undefined || first[0] >= before * 1000) return 0;
    return write('remove old orders', async (run) => {
      const uids = (await run(due, before * 1000, before, limit)).map(([uid]) => uid);
      if (uids.length === 0) return 0;
      const removed = await run(remove, uids.map(toBytes));
      const cancelled = removed.filter(([, cancelledOffChain]) => cancelledOffChain).map(([uid]) => uid);
      if (cancelled.length > 0) {
        await run(
          addTombstones,
          cancelled.map((uid) => unpackUid(uid).validTo),
          cancelled.map(toBytes),
        );
      }
      return removed.length;
    });
  };
}

/** Creates a function that counts all orders, or those that ended before a time. */
export function createOrderTotal({
  schema: s,
  prepare,
  read,
}: PostgresSession): (endedBefore?: number) => Promise<number> {
  const all = prepare<readonly [number]>(`SELECT count(*)::int FROM ${s}.orders`);
  const ended = prepare<readonly [number]>(
    `SELECT count(*)::int FROM ${s}.orders WHERE created < $1 AND NOT live AND valid_to < $2`,
  );
  return (before) =>
    read('count orders', async (run) => {
      const rows = await (before === undefined ? run(all) : run(ended, before * 1000, before));
      return Number(rows[0]?.[0] ?? 0);
    });
}
