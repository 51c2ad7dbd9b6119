import type { Hex } from 'intentbook';
import { toBytes } from './rows.ts';
import type { Session } from './session.ts';

/**
 * Removes orders that are over for long, each under its owner's lock, like every change of one. It waits for nobody: it
 * passes over owners who are being written to. They are looked for in the order of their arrival, which has an index.
 */
export function pruningOver({
  schema: s,
  prepare,
  read,
  write,
}: Session): (before: number, limit: number) => Promise<number> {
  const done = 'NOT o.live AND o.created < $1 AND o.valid_to < $2';
  const any = prepare(`SELECT 1 FROM ${s}.orders o WHERE ${done} LIMIT 1`);
  const due = prepare<readonly [Hex]>(
    `SELECT o.uid FROM ${s}.orders o JOIN ${s}.owners w ON w.owner = o.owner WHERE ${done} ` +
      'ORDER BY o.created, o.uid LIMIT $3 FOR NO KEY UPDATE OF w SKIP LOCKED',
  );
  // What was found is looked at again: it may have been revived before its owner was locked.
  const remove = prepare<readonly [Hex]>(
    `WITH gone AS (DELETE FROM ${s}.orders WHERE uid = ANY($1::bytea[]) AND NOT live RETURNING uid), ` +
      `quotes AS (DELETE FROM ${s}.order_quotes WHERE uid IN (SELECT uid FROM gone)) SELECT uid FROM gone`,
  );

  return async (before, limit) => {
    if ((await read('look for old orders', (run) => run(any, before * 1000, before))).length === 0) return 0;
    return write('remove old orders', async (run) => {
      const uids = (await run(due, before * 1000, before, limit)).map(([uid]) => uid);
      return uids.length === 0 ? 0 : (await run(remove, uids.map(toBytes))).length;
    });
  };
}
