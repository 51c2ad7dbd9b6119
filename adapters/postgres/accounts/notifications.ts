import type {
  AccountLogEntry,
  Address,
  AppendOutcome,
  NewNotification,
  NotificationBatch,
  NotificationChange,
  NotificationStore,
  ProgressMarker,
  StoredNotification,
} from 'intentbook';
import { XID } from '../log-epoch.ts';
import type { Query } from '../query.ts';
import { toBytes } from '../rows.ts';
import type { PostgresSession } from '../session.ts';
import type { AddedDelivery, Outbox } from './deliveries.ts';
import { type AcquireLock, getOrigin } from './serial-lock.ts';

/** State of a notification within a batch. */
interface BatchNotification extends Pick<NewNotification, 'id' | 'account'> {
  readonly type: string;
  at: number;
  visible: boolean;
  /** Set if an existing one is shown again: its new time and text. */
  shown?: { readonly at: number; readonly body: string };
  /** Set if the notification must be stored, with its number. */
  inserted?: { readonly seq: number; readonly body: string };
}

interface Entry {
  readonly id: number;
  readonly withdrawn: boolean;
  readonly account: Address;
  readonly notification: string;
}

/**
 * Creates the operations on notifications. One transaction at a time writes the log: it assigns ids while it holds the
 * lock, which is released after its commit.
 *
 * @param onAppended - Called after entries were appended to the log. A failure does not affect the result.
 */
export function createNotificationTable(
  { schema: s, prepare, prepareObjects, read, write }: PostgresSession,
  acquireLock: AcquireLock,
  outbox: Outbox,
  onAppended: () => Promise<void>,
): Omit<NotificationStore, 'watch'> {
  const selectCursor = prepare<readonly [number]>(`SELECT cursor FROM ${s}.feeds WHERE feed = $1`);
  const setCursor = prepare(
    `INSERT INTO ${s}.feeds (feed, cursor) VALUES ($1, $2) ON CONFLICT (feed) DO UPDATE SET cursor = excluded.cursor`,
  );
  const selectNotifications = prepareObjects<BatchNotification>(
    `SELECT id, visible, account, type, at FROM ${s}.notifications WHERE id = ANY($1::text[])`,
  );
  const insert = prepare(
    `INSERT INTO ${s}.notifications (id, seq, account, type, at, visible, body) ` +
      "SELECT id, seq, decode(substr(account, 3), 'hex'), type, at, visible, body FROM json_to_recordset($1::json) AS " +
      'n (id text, seq bigint, account text, type text, at bigint, visible boolean, body text)',
  );
  const show = prepare(
    `UPDATE ${s}.notifications n SET visible = c.visible, at = coalesce(c.at, n.at), body = coalesce(c.body, n.body) ` +
      'FROM json_to_recordset($1::json) AS c (id text, visible boolean, at bigint, body text) ' +
      'WHERE n.id = c.id AND (n.visible <> c.visible OR c.at IS NOT NULL)',
  );
  const record = prepare(
    `INSERT INTO ${s}.log (id, withdrawn, account, notification) ` +
      "SELECT id, withdrawn, decode(substr(account, 3), 'hex'), notification FROM json_to_recordset($1::json) AS " +
      'e (id bigint, withdrawn boolean, account text, notification text)',
  );
  const setLast = prepare(`UPDATE ${s}.locks SET last = $1, origin = ${getOrigin(s)}, xid = ${XID} WHERE name = 'log'`);
  const setMarkers = prepare(
    `INSERT INTO ${s}.progress_markers (feed, key, value) SELECT $1, key, value FROM json_to_recordset($2::json) AS ` +
      'm (key text, value text) WHERE value IS NOT NULL ON CONFLICT (feed, key) DO UPDATE SET value = excluded.value',
  );
  const deleteMarkers = prepare(`DELETE FROM ${s}.progress_markers WHERE feed = $1 AND key = ANY($2::text[])`);
  const selectMarkers = prepareObjects<ProgressMarker>(
    `SELECT key, value FROM ${s}.progress_markers WHERE feed = $1 AND key = ANY($2::text[])`,
  );
  const page = 'ORDER BY at DESC, seq DESC LIMIT';
  const listed = `SELECT id, seq, at, body FROM ${s}.notifications WHERE visible AND account = $1`;
  const newest = prepareObjects<StoredNotification>(`${listed} ${page} $2`);
  const further = prepareObjects<StoredNotification>(`${listed} AND (at, seq) < ($3, $4) ${page} $2`);
  const last = prepare<readonly [number]>(`SELECT last FROM ${s}.locks WHERE name = 'log'`);
  const logged =
    `SELECT l.id, CASE WHEN l.withdrawn THEN 'withdrawn' ELSE 'notification' END AS type, l.account, l.notification, n.body ` +
    `FROM ${s}.log l JOIN ${s}.notifications n ON n.id = l.notification`;
  const selectLog = prepareObjects<AccountLogEntry>(`${logged} WHERE l.id > $1 ORDER BY l.id LIMIT $2`);
  const selectAccountLog = prepareObjects<AccountLogEntry>(
    `${logged} WHERE l.account = $3 AND l.id > $1 ORDER BY l.id LIMIT $2`,
  );

  async function append(run: Query, batch: NotificationBatch): Promise<AppendOutcome> {
    const { feed, after, through, changes, marks = [] } = batch;
    const lastId = await acquireLock(run, 'log');
    const cursor = (await run(selectCursor, feed))[0]?.[0] ?? null;
    if (cursor !== after) return { status: 'moved', cursor };
    const entries = changes.length === 0 ? [] : await apply(run, changes, lastId);
    // The last value of a repeated key counts.
    const latest = [...new Map(marks.map((mark) => [mark.key, mark])).values()];
    if (latest.length > 0) await run(setMarkers, feed, JSON.stringify(latest));
    const removed = latest.flatMap(({ key, value }) => (value === null ? [key] : []));
    if (removed.length > 0) await run(deleteMarkers, feed, removed);
    await run(setCursor, feed, through);
    return { status: 'appended', changed: entries.length };
  }

  async function apply(run: Query, changes: readonly NotificationChange[], lastId: number): Promise<readonly Entry[]> {
    const ids = [...new Set(changes.map((change) => (change.type === 'notify' ? change.notification.id : change.id)))];
    const rows = await run(selectNotifications, ids);
    const byId = new Map(rows.map((row) => [row.id, row]));
    const { entries, shown, hidden } = planEntries(changes, byId, lastId);
    if (entries.length === 0) return entries;
    const all = [...byId.values()];
    const added = all.flatMap(({ inserted, ...each }) => (inserted === undefined ? [] : [{ ...each, ...inserted }]));
    if (added.length > 0) await run(insert, JSON.stringify(added));
    const existing = all.filter((each) => each.inserted === undefined);
    const toChange = ({ id, visible, shown: to }: BatchNotification) => ({ id, visible, ...to });
    if (existing.length > 0) await run(show, JSON.stringify(existing.map(toChange)));
    await run(record, JSON.stringify(entries));
    await run(setLast, entries.at(-1)?.id);
    await outbox.add(run, shown);
    await outbox.drop(run, hidden);
    return entries;
  }

  return {
    cursor: (feed) => read('read a cursor', async (run) => (await run(selectCursor, feed))[0]?.[0] ?? null),
    async append(batch) {
      const outcome = await write('append notifications', (run) => append(run, batch));
      // The entries are committed. Other processes find them by polling.
      if (outcome.status === 'appended' && outcome.changed > 0) await onAppended().catch(() => {});
      return outcome;
    },
    list: ({ account, after, limit }) =>
      read('list notifications', async (run) => {
        const bytes = toBytes(account);
        return after === undefined ? run(newest, bytes, limit) : run(further, bytes, limit, after.at, after.seq);
      }),
    marks: (feed, keys) => read('read progress markers', (run) => run(selectMarkers, feed, keys)),
    last: () => read('read the account log', async (run) => (await run(last))[0]?.[0] ?? 0),
    after: (id, limit, account) =>
      read('read the account log', (run) =>
        account === undefined ? run(selectLog, id, limit) : run(selectAccountLog, id, limit, toBytes(account)),
      ),
  };
}

/**
 * Applies changes in order to the stored notifications, and adds new ones to the map.
 *
 * @returns The log entries, the notifications that became visible at any time in that order, and those that are hidden
 * in the end.
 */
function planEntries(changes: readonly NotificationChange[], byId: Map<string, BatchNotification>, lastId: number) {
  const entries: Entry[] = [];
  const shown = new Map<string, AddedDelivery>();
  for (const change of changes) {
    const withdrawn = change.type === 'withdraw';
    const row = byId.get(withdrawn ? change.id : change.notification.id);
    if (row?.visible === !withdrawn || (row === undefined && withdrawn)) continue;
    const id = lastId + entries.length + 1;
    let notification: BatchNotification;
    if (row !== undefined) notification = row;
    else if (withdrawn) continue;
    else {
      const { id: newId, account, type, at, body } = change.notification;
      notification = { id: newId, account, type, at, visible: true, inserted: { seq: id, body } };
      byId.set(newId, notification);
    }
    notification.visible = !withdrawn;
    if (!withdrawn) {
      const { at, body } = change.notification;
      // A notification that is new in this batch may be withdrawn and shown again in it, with other amounts.
      if (notification.inserted === undefined) notification.shown = { at, body };
      else Object.assign(notification, { at, inserted: { seq: notification.inserted.seq, body } });
    }
    const { id: key, account, type, at } = notification;
    entries.push({ id, withdrawn, account, notification: key });
    if (!withdrawn && !shown.has(key)) shown.set(key, { notification: key, account, type, at });
  }
  const changed = new Set(entries.map(({ notification }) => notification));
  const hidden = [...changed].filter((id) => byId.get(id)?.visible === false);
  return { entries, shown: [...shown.values()], hidden };
}
