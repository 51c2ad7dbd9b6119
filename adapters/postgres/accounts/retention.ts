import type { AccountRetentionStore } from 'intentbook';
import { countOldEntries } from 'intentbook/store-kit';
import type { PostgresSession } from '../session.ts';
import type { AcquireLock } from './serial-lock.ts';

type EntryRow = readonly [id: number, at: number, notification: string];

/** Creates the deletion of old notifications and of nonces. */
export function createAccountRetention(
  { schema: s, prepare, read, write }: PostgresSession,
  acquireLock: AcquireLock,
): AccountRetentionStore {
  const prunedThrough = prepare<readonly [number]>(`SELECT coalesce(min(id) - 1, 0) FROM ${s}.log`);
  const oldest = prepare<EntryRow>(
    `SELECT l.id, n.at, n.id FROM (SELECT * FROM ${s}.log WHERE id <= $1 AND id < (SELECT max(id) FROM ${s}.log) ` +
      `ORDER BY id LIMIT $2) l JOIN ${s}.notifications n ON n.id = l.notification ORDER BY l.id`,
  );
  const removeEntries = prepare(`DELETE FROM ${s}.log WHERE id <= $1`);
  const removeDeliveries = prepare(`DELETE FROM ${s}.deliveries WHERE notification = ANY($1::text[])`);
  const selectUnlogged = prepare<readonly [string]>(
    `SELECT n FROM unnest($1::text[]) n WHERE NOT EXISTS (SELECT FROM ${s}.log l WHERE l.notification = n)`,
  );
  const removeNotifications = prepare(`DELETE FROM ${s}.notifications WHERE id = ANY($1::text[])`);
  const removeNonces = prepare(
    `DELETE FROM ${s}.nonces WHERE (account, nonce) IN ` +
      `(SELECT account, nonce FROM ${s}.nonces WHERE expires < $1 ORDER BY expires LIMIT $2) RETURNING 1`,
  );

  return {
    prunedThrough: () => read('read the account log', async (run) => (await run(prunedThrough))[0]?.[0] ?? 0),
    pruneNotifications: ({ before, through, limit }) =>
      write('remove old notifications', async (run) => {
        await acquireLock(run, 'log');
        const rows = await run(oldest, through, limit);
        const times = rows.map(([, at]) => at);
        const due = rows.slice(0, countOldEntries(times, before));
        const last = due.at(-1);
        if (last === undefined) return 0;
        await run(removeEntries, last[0]);
        const ids = [...new Set(due.map(([, , notification]) => notification))];
        const unlogged = (await run(selectUnlogged, ids)).map(([id]) => id);
        await run(removeDeliveries, unlogged);
        await run(removeNotifications, unlogged);
        return due.length;
      }),
    pruneNonces: (now, limit) =>
      write('remove old nonces', async (run) => {
        await acquireLock(run, 'subscriptions');
        return (await run(removeNonces, now, limit)).length;
      }),
  };
}
