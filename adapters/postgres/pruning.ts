import type { Hex, PruneRequest } from 'intentbook';
import { toByteArray } from './rows.ts';
import type { PostgresSession } from './session.ts';

/**
 * Returns SQL for the orders to remove with their owners' locks, soonest expired first. Keys begin with the signed
 * `validTo`, so the first part reads the index of keys, in which nearly every order before the limit can be removed.
 * The others read orders whose effective `validTo` may be earlier than the signed one: those that were placed on chain,
 * and those that have waited too long for their signature.
 */
export function pruningSql(s: string): string {
  const part = (condition: string, sort: string) =>
    `(SELECT o.key, o.owner FROM ${s}.orders o WHERE ${condition} ` +
    `AND coalesce(o.phase >= 2 AND o.valid_to < $1 AND o.created < $1 * 1000, false) ORDER BY ${sort} LIMIT $2)`;
  const parts = [
    part(`o.key > '' AND o.key < ${firstKey('$1')}`, 'o.key'),
    part('o.onchain_user IS NOT NULL AND o.valid_to >= 0 AND o.valid_to < $1', 'o.valid_to'),
    part('o.phase / 2 = 1 AND o.phase < 4 AND o.valid_to >= 0 AND o.valid_to < $1', 'o.valid_to'),
  ];
  return (
    `SELECT d.key FROM (SELECT DISTINCT key, owner FROM (${parts.join(' UNION ALL ')}) p ORDER BY key LIMIT $2) d ` +
    `JOIN ${s}.owners w ON w.owner = d.owner ORDER BY d.key FOR NO KEY UPDATE OF w SKIP LOCKED`
  );
}

/** Returns SQL for the first key with a signed `validTo` that is not before a parameter. */
export const firstKey = (parameter: string) => `substr(int8send(${parameter}::bigint), 5)`;

const MAX_VALID_TO = 2 ** 32 - 1;
export const toValidTo = (seconds: number) => Math.min(Math.max(Math.floor(seconds), 0), MAX_VALID_TO);

/**
 * Creates a function that removes orders that ended before a time, each under its owner's lock. It skips owners that
 * are locked by another transaction. Orders that were cancelled off chain leave a tombstone.
 */
export function createPruner({
  schema: s,
  prepare,
  write,
}: PostgresSession): (request: PruneRequest) => Promise<number> {
  const due = prepare<readonly [Hex]>(pruningSql(s));
  // The condition is checked again: an order may be live again before its owner was locked. With a tombstone, the row
  // of the owner changes, so that a host transaction with stricter isolation and an older snapshot cannot lock it.
  const remove = prepare<readonly [Hex]>(
    `WITH removed AS (DELETE FROM ${s}.orders o USING unnest($1::bytea[]) k WHERE o.key = k AND phase >= 2 ` +
      'RETURNING key, cancelled_off_chain), ' +
      `filled AS (DELETE FROM ${s}.fills f USING removed k WHERE f.key = k.key), ` +
      `marked AS (INSERT INTO ${s}.tombstones (key) SELECT key FROM removed WHERE cancelled_off_chain ` +
      'ON CONFLICT DO NOTHING), ' +
      `touched AS (UPDATE ${s}.owners w SET live_open = w.live_open FROM (SELECT DISTINCT substr(key, 37) AS owner ` +
      'FROM removed WHERE cancelled_off_chain) c WHERE w.owner = c.owner) SELECT key FROM removed',
  );
  const release = prepare(
    `DELETE FROM ${s}.tombstones t USING (SELECT key FROM ${s}.tombstones ` +
      `WHERE key < ${firstKey('$1')} ORDER BY key LIMIT $2) k WHERE t.key = k.key`,
  );

  return ({ before, limit, tombstonesBefore }) =>
    write('remove old orders', async (run) => {
      if (tombstonesBefore !== undefined) await run(release, toValidTo(tombstonesBefore), limit);
      const keys = (await run(due, toValidTo(before), limit)).map(([key]) => `\\x${key.slice(2)}`);
      return keys.length === 0 ? 0 : (await run(remove, toByteArray(keys))).length;
    });
}

/** Creates a function that counts all orders, or those that ended before a time. */
export function createOrderTotal({
  schema: s,
  prepare,
  read,
}: PostgresSession): (endedBefore?: number) => Promise<number> {
  const all = prepare<readonly [number]>(`SELECT count(*)::int FROM ${s}.orders`);
  const ended = prepare<readonly [number]>(
    `SELECT count(*)::int FROM ${s}.orders WHERE created < $1 AND phase >= 2 AND valid_to < $2`,
  );
  return (before) =>
    read('count orders', async (run) => {
      const rows = await (before === undefined ? run(all) : run(ended, before * 1000, before));
      return Number(rows[0]?.[0] ?? 0);
    });
}
