import type {
  AccountLogEntry,
  AppendOutcome,
  Clock,
  NewNotification,
  NotificationBatch,
  NotificationChange,
  ProgressMarker,
  StoredNotification,
} from 'intentbook';
import { DELIVERY_WINDOW } from 'intentbook/store-kit';
import { createEpochStart } from '../events.ts';
import { toBytes, toHexText } from '../rows.ts';
import type { AccountOperations, SqliteSession } from '../session.ts';

/** Creates the operations on notifications. They are synchronous: a call has taken effect when it returns. */
export function createNotificationTable(
  session: SqliteSession,
  clock: Clock,
): Omit<AccountOperations['notifications'], 'watch'> {
  const { prefix: p, prepare, read, write } = session;
  const find = prepare(`SELECT seq, account, type, at, visible FROM ${p}notifications WHERE id = ?`).raw();
  const insert = prepare(
    `INSERT INTO ${p}notifications (seq, id, account, type, at, body, visible) VALUES (?, ?, ?, ?, ?, ?, 1)`,
  );
  const hide = prepare(`UPDATE ${p}notifications SET visible = 0 WHERE seq = ?`);
  const show = prepare(`UPDATE ${p}notifications SET visible = 1, at = ?, body = ? WHERE seq = ?`);
  const record = prepare(`INSERT INTO ${p}account_log (id, account, withdrawn, notification) VALUES (?, ?, ?, ?)`);
  const newest = prepare(`SELECT coalesce(max(id), 0) FROM ${p}account_log`).pluck();
  // The sign excludes the index of states, which has few values.
  const dropDeliveries = prepare(`UPDATE ${p}deliveries SET state = 3 WHERE notification = ? AND +state = 0`);
  const deliver = prepare(
    `INSERT INTO ${p}deliveries (subscription, notification, state, due) ` +
      `SELECT n, ?, 0, ? FROM ${p}subscriptions WHERE account = ? AND active = 1 AND min(created_at, ?) <= ? ` +
      'AND EXISTS (SELECT 1 FROM json_each(types) WHERE value = ?) ORDER BY n ' +
      'ON CONFLICT (notification, subscription) DO UPDATE SET state = 0 WHERE state = 3',
  );
  const list = prepare(
    `SELECT id, seq, at, body FROM ${p}notifications WHERE account = ? AND visible = 1 AND (at, seq) < (?, ?) ` +
      'ORDER BY at DESC, seq DESC LIMIT ?',
  );
  const columns =
    `l.id, ${toHexText('l.account')} AS account, iif(l.withdrawn = 1, 'withdrawn', 'notification') AS type, ` +
    'n.id AS notification, n.body';
  const join = `${p}account_log l JOIN ${p}notifications n ON n.seq = l.notification`;
  const after = prepare(`SELECT ${columns} FROM ${join} WHERE l.id > ? ORDER BY l.id LIMIT ?`);
  const afterOfAccount = prepare(
    `SELECT ${columns} FROM ${join} WHERE l.account = ? AND l.id > ? ORDER BY l.id LIMIT ?`,
  );

  const selectCursor = prepare(`SELECT cursor FROM ${p}feeds WHERE feed = ?`).pluck();
  const setCursor = prepare(`INSERT OR REPLACE INTO ${p}feeds (feed, cursor) VALUES (?, ?)`);
  const setMarker = prepare(`INSERT OR REPLACE INTO ${p}progress_markers (feed, key, value) VALUES (?, ?, ?)`);
  const deleteMarker = prepare(`DELETE FROM ${p}progress_markers WHERE feed = ? AND key = ?`);
  const selectMarkers = prepare(
    `SELECT key, value FROM ${p}progress_markers WHERE feed = ? AND key IN (SELECT value FROM json_each(?))`,
  );

  const getCursor = (feed: string) => (selectCursor.get(feed) as number | undefined) ?? null; // an integer column
  const getEpochStart = createEpochStart(session, 'account_log', clock);
  const getNextId = () => getEpochStart() ?? (newest.get() as number) + 1; // an integer, or coalesced to one

  function notify({ id, account, type, at, body }: NewNotification): boolean {
    const row = find.get(id) as NotificationRow | undefined; // the columns selected
    if (row?.[4] === 1) return false;
    const owner = row === undefined ? toBytes(account) : row[1];
    const next = getNextId();
    const seq = row === undefined ? next : row[0];
    if (row === undefined) insert.run(seq, id, owner, type, at, body);
    else show.run(at, body, seq);
    record.run(next, owner, 0, seq);
    const causedAt = row?.[3] ?? at;
    const addedAt = clock.now();
    deliver.run(seq, Math.min(causedAt, addedAt), owner, addedAt, causedAt + DELIVERY_WINDOW, row?.[2] ?? type);
    return true;
  }

  function withdraw(id: string): boolean {
    const row = find.get(id) as NotificationRow | undefined; // the columns selected
    if (row === undefined || row[4] === 0) return false;
    hide.run(row[0]);
    record.run(getNextId(), row[1], 1, row[0]);
    dropDeliveries.run(row[0]);
    return true;
  }

  const apply = (change: NotificationChange) =>
    change.type === 'notify' ? notify(change.notification) : withdraw(change.id);

  function append({ feed, after: expected, through, changes, marks = [] }: NotificationBatch): AppendOutcome {
    const cursor = getCursor(feed);
    if (cursor !== expected) return { status: 'moved', cursor };
    let changed = 0;
    for (const change of changes) if (apply(change)) changed++;
    for (const { key, value } of marks) {
      if (value === null) deleteMarker.run(feed, key);
      else setMarker.run(feed, key, value);
    }
    setCursor.run(feed, through);
    return { status: 'appended', changed };
  }

  return {
    cursor: (feed) => read('read a cursor', () => getCursor(feed)),
    append: (batch) => write('write notifications', () => append(batch)),
    list: ({ account, after: position, limit }) =>
      read('read notifications', () => {
        const { at, seq } = position ?? { at: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER };
        return list.all(toBytes(account), at, seq, limit) as StoredNotification[]; // as selected
      }),
    marks: (feed, keys) =>
      // The columns selected.
      read('read progress markers', () => selectMarkers.all(feed, JSON.stringify(keys)) as ProgressMarker[]),
    last: () => read('read the account log', () => newest.get() as number), // an integer, or coalesced to one
    after: (id, limit, account) =>
      read('read the account log', () => {
        const rows = account === undefined ? after.all(id, limit) : afterOfAccount.all(toBytes(account), id, limit);
        return rows as AccountLogEntry[]; // the columns selected
      }),
  };
}

type NotificationRow = readonly [seq: number, account: Buffer, type: string, at: number, visible: number];
