import type { LogPruneRequest } from 'intentbook';
import { countOldEntries } from 'intentbook/store-kit';
import type { SqliteSession } from '../session.ts';

type EntryRow = readonly [id: number, at: number, notification: number];

/** Creates the deletion of old notifications and of nonces. */
export function createAccountRetention({ prefix: p, prepare, read, write }: SqliteSession) {
  const prunedThrough = prepare(`SELECT coalesce(min(id) - 1, 0) FROM ${p}account_log`).pluck();
  const oldest = prepare(
    `SELECT l.id, n.at, n.seq FROM ${p}account_log l JOIN ${p}notifications n ON n.seq = l.notification ` +
      `WHERE l.id <= ? AND l.id < (SELECT max(id) FROM ${p}account_log) ORDER BY l.id LIMIT ?`,
  ).raw();
  const removeEntries = prepare(`DELETE FROM ${p}account_log WHERE id <= ?`);
  const isLogged = prepare(`SELECT 1 FROM ${p}account_log WHERE notification = ? LIMIT 1`).pluck();
  const removeDeliveries = prepare(`DELETE FROM ${p}deliveries WHERE notification = ?`);
  const removeNotification = prepare(`DELETE FROM ${p}notifications WHERE seq = ?`);
  const removeNonces = prepare(
    `DELETE FROM ${p}nonces WHERE (account, nonce) IN ` +
      `(SELECT account, nonce FROM ${p}nonces WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`,
  );

  return {
    // An integer, or coalesced to one.
    prunedThrough: () => read('read the account log', () => prunedThrough.get() as number),
    pruneNotifications: ({ before, through, limit }: LogPruneRequest): number =>
      write('remove old notifications', () => {
        const rows = oldest.all(through, limit) as EntryRow[]; // the columns selected
        const times = rows.map(([, at]) => at);
        const due = rows.slice(0, countOldEntries(times, before));
        const last = due.at(-1);
        if (last !== undefined) removeEntries.run(last[0]);
        for (const seq of new Set(due.map(([, , notification]) => notification))) {
          if (isLogged.get(seq) !== undefined) continue;
          removeDeliveries.run(seq);
          removeNotification.run(seq);
        }
        return due.length;
      }),
    pruneNonces: (now: number, limit: number): number =>
      write('remove old nonces', () => Number(removeNonces.run(now, limit).changes)),
  };
}
