import type { Hex } from 'intentbook';
import { toByteArray } from './rows.ts';
import type { PostgresSession } from './session.ts';

/**
 * Returns SQL for the orders to remove with their owners' locks, soonest expired first. Keys begin with the signed
 * `validTo`, so the first part reads the index of keys, in which nearly every order before the limit can be removed.
 * The second part reads orders that were placed on chain, whose effective `validTo` may be earlier than the signed one.
 */
export function pruningSql(s: string): string {
  const part = (condition: string, sort: string) =>
    `(SELECT o.key, o.owner FROM ${s}.orders o WHERE ${condition} ` +
    `AND coalesce(o.phase >= 2 AND o.valid_to < $1 AND o.created < $1 * 1000, false) ORDER BY ${sort} LIMIT $2)`;
  const parts = [
    part("o.key > '' AND o.key < substr(int8send($1::bigint), 5)", 'o.key'),
    part('o.onchain_user IS NOT NULL AND o.valid_to >= 0 AND o.valid_to < $1', 'o.valid_to'),
  ];
  return (
    `SELECT d.key FROM (SELECT DISTINCT key, owner FROM (${parts.join(' UNION ALL ')}) p ORDER BY key LIMIT $2) d ` +
    `JOIN ${s}.owners w ON w.owner = d.owner ORDER BY d.key FOR NO KEY UPDATE OF w SKIP LOCKED`
  );
}

/**
 * Creates a function that removes orders that ended before a time, each under its owner's lock. It skips owners that
 * are locked by another transaction.
 */
export function createPruner({
  schema: s,
  prepare,
  write,
}: PostgresSession): (before: number, limit: number) => Promise<number> {
  const due = prepare<readonly [Hex]>(pruningSql(s));
  // The condition is checked again: an order may be live again before its owner was locked.
  const remove = prepare<readonly [Hex]>(
    `WITH filled AS (DELETE FROM ${s}.fills WHERE key = ANY($1::bytea[]) AND EXISTS (SELECT FROM ${s}.orders o ` +
      'WHERE o.key = fills.key AND o.phase >= 2)) ' +
      `DELETE FROM ${s}.orders WHERE key = ANY($1::bytea[]) AND phase >= 2 RETURNING key`,
  );

  return (before, limit) =>
    write('remove old orders', async (run) => {
      const keys = (await run(due, Math.min(Math.max(before, 0), 2 ** 32 - 1), limit)).map(
        ([key]) => `\\x${key.slice(2)}`,
      );
      return keys.length === 0 ? 0 : (await run(remove, toByteArray(keys))).length;
    });
}
