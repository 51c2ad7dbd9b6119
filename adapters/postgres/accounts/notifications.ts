import type {
  AccountLogEntry,
  Address,
  AppendOutcome,
  NewNotification,
  NotificationBatch,
  NotificationChange,
  NotificationStore,
} from 'intentbook';
import type { Query } from '../query.ts';
import { toBytes } from '../rows.ts';
import type { PostgresSession } from '../session.ts';
import type { AddedDelivery, Outbox } from './deliveries.ts';
import type { AcquireLock } from './serial-lock.ts';

type NotificationRow = readonly [id: string, visible: boolean, account: Address, type: string, at: number];
type LogRow = readonly [id: number, withdrawn: boolean, account: Address, notification: string, body: string];

/** A notification as a batch works on it. */
interface Known extends Pick<NewNotification, 'id' | 'account' | 'at'> {
  readonly type: string;
  visible: boolean;
  /** To be stored, under this number. */
  readonly fresh?: { readonly seq: number; readonly body: string };
}

interface Entry {
  readonly id: number;
  readonly withdrawn: boolean;
  readonly account: Address;
  readonly notification: string;
}

/**
 * The list, the log and what they set off. One transaction at a time writes the log: its ids are given out while it has
 * the turn, and others go on only once it is committed.
 *
 * @param onAppended told when the log has grown.
 */
export function createNotificationTable(
  { schema: s, prepare, read, write }: PostgresSession,
  takeTurn: AcquireLock,
  outbox: Outbox,
  onAppended: () => Promise<void>,
): Omit<NotificationStore, 'watch'> {
  const cursorOf = prepare<readonly [number]>(`SELECT cursor FROM ${s}.feeds WHERE feed = $1`);
  const setCursor = prepare(
    `INSERT INTO ${s}.feeds (feed, cursor) VALUES ($1, $2) ON CONFLICT (feed) DO UPDATE SET cursor = excluded.cursor`,
  );
  const known = prepare<NotificationRow>(
    `SELECT id, visible, account, type, at FROM ${s}.notifications WHERE id = ANY($1::text[])`,
  );
  const insert = prepare(
    `INSERT INTO ${s}.notifications (id, seq, account, type, at, visible, body) SELECT * FROM ` +
      'unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[], $5::bigint[], $6::boolean[], $7::text[])',
  );
  const show = prepare(
    `UPDATE ${s}.notifications n SET visible = c.visible FROM unnest($1::text[], $2::boolean[]) c (id, visible) ` +
      'WHERE n.id = c.id AND n.visible <> c.visible',
  );
  const record = prepare(
    `INSERT INTO ${s}.log (id, withdrawn, account, notification) SELECT * FROM ` +
      'unnest($1::bigint[], $2::boolean[], $3::bytea[], $4::text[])',
  );
  const setLast = prepare(`UPDATE ${s}.turns SET last = $1 WHERE name = 'log'`);
  const setMarks = prepare(
    `INSERT INTO ${s}.marks (feed, key, value) SELECT $1, k, v FROM unnest($2::text[], $3::text[]) m (k, v) ` +
      'ON CONFLICT (feed, key) DO UPDATE SET value = excluded.value',
  );
  const forgetMarks = prepare(`DELETE FROM ${s}.marks WHERE feed = $1 AND key = ANY($2::text[])`);
  const findMarks = prepare<readonly [string, string]>(
    `SELECT key, value FROM ${s}.marks WHERE feed = $1 AND key = ANY($2::text[])`,
  );
  const page = 'ORDER BY at DESC, seq DESC LIMIT';
  const listed = `SELECT id, seq, at, body FROM ${s}.notifications WHERE visible AND account = $1`;
  type ListRow = readonly [id: string, seq: number, at: number, body: string];
  const newest = prepare<ListRow>(`${listed} ${page} $2`);
  const further = prepare<ListRow>(`${listed} AND (at, seq) < ($3, $4) ${page} $2`);
  const last = prepare<readonly [number]>(`SELECT last FROM ${s}.turns WHERE name = 'log'`);
  const logged = `SELECT l.id, l.withdrawn, l.account, l.notification, n.body FROM ${s}.log l JOIN ${s}.notifications n ON n.id = l.notification`;
  const follow = prepare<LogRow>(`${logged} WHERE l.id > $1 ORDER BY l.id LIMIT $2`);
  const followOne = prepare<LogRow>(`${logged} WHERE l.account = $3 AND l.id > $1 ORDER BY l.id LIMIT $2`);

  async function append(run: Query, batch: NotificationBatch): Promise<AppendOutcome> {
    const { feed, after, through, changes, marks = [] } = batch;
    const lastId = await takeTurn(run, 'log');
    const cursor = (await run(cursorOf, feed))[0]?.[0] ?? null;
    if (cursor !== after) return { status: 'moved', cursor };
    const entries = changes.length === 0 ? [] : await apply(run, changes, lastId);
    const [kept, gone] = [new Map<string, string>(), new Set<string>()];
    for (const { key, value } of marks) {
      // The last of several for one key counts.
      if (value === null) kept.delete(key);
      else kept.set(key, value);
      if (value === null) gone.add(key);
      else gone.delete(key);
    }
    if (kept.size > 0) await run(setMarks, feed, [...kept.keys()], [...kept.values()]);
    if (gone.size > 0) await run(forgetMarks, feed, [...gone]);
    await run(setCursor, feed, through);
    return { status: 'appended', changed: entries.length };
  }

  async function apply(run: Query, changes: readonly NotificationChange[], lastId: number): Promise<readonly Entry[]> {
    const ids = [...new Set(changes.map((change) => (change.type === 'notify' ? change.notification.id : change.id)))];
    const rows = await run(known, ids);
    const there = new Map<string, Known>(
      rows.map(([id, visible, account, type, at]) => [id, { id, visible, account, type, at }]),
    );
    const { entries, shown, hidden } = planEntries(changes, there, lastId);
    if (entries.length === 0) return entries;
    const all = [...there.values()];
    const fresh = all.flatMap(({ fresh: stored, ...each }) => (stored === undefined ? [] : [{ ...each, ...stored }]));
    if (fresh.length > 0) {
      await run(
        insert,
        fresh.map(({ id }) => id),
        fresh.map(({ seq }) => seq),
        fresh.map(({ account }) => toBytes(account)),
        fresh.map(({ type }) => type),
        fresh.map(({ at }) => at),
        fresh.map(({ visible }) => visible),
        fresh.map(({ body }) => body),
      );
    }
    const old = all.filter((each) => each.fresh === undefined);
    if (old.length > 0) {
      await run(
        show,
        old.map(({ id }) => id),
        old.map(({ visible }) => visible),
      );
    }
    await run(
      record,
      entries.map(({ id }) => id),
      entries.map(({ withdrawn }) => withdrawn),
      entries.map(({ account }) => toBytes(account)),
      entries.map(({ notification }) => notification),
    );
    await run(setLast, entries.at(-1)?.id);
    await outbox.add(run, shown);
    await outbox.drop(run, hidden);
    return entries;
  }

  return {
    cursor: (feed) => read('read a cursor', async (run) => (await run(cursorOf, feed))[0]?.[0] ?? null),
    async append(batch) {
      const outcome = await write('append notifications', (run) => append(run, batch));
      if (outcome.status === 'appended' && outcome.changed > 0) await onAppended();
      return outcome;
    },
    list: ({ account, after, limit }) =>
      read('list notifications', async (run) => {
        const bytes = toBytes(account);
        const rows =
          after === undefined ? await run(newest, bytes, limit) : await run(further, bytes, limit, after.at, after.seq);
        return rows.map(([id, seq, at, body]) => ({ id, seq, at, body }));
      }),
    marks: (feed, keys) =>
      read('read marks', async (run) => (await run(findMarks, feed, keys)).map(([key, value]) => ({ key, value }))),
    last: () => read('read the account log', async (run) => (await run(last))[0]?.[0] ?? 0),
    after: (id, limit, account) =>
      read('read the account log', async (run) => {
        const rows =
          account === undefined ? await run(follow, id, limit) : await run(followOne, id, limit, toBytes(account));
        return rows.map(
          ([entry, withdrawn, of, notification, body]): AccountLogEntry => ({
            id: entry,
            account: of,
            type: withdrawn ? 'withdrawn' : 'notification',
            notification,
            body,
          }),
        );
      }),
  };
}

/**
 * Applies changes one after the other to what is known, and adds to that what is new.
 *
 * @returns the entries of the log; what has come to be seen at any time, in that order; and what is hidden in the end.
 */
function planEntries(changes: readonly NotificationChange[], there: Map<string, Known>, lastId: number) {
  const entries: Entry[] = [];
  const shown = new Map<string, AddedDelivery>();
  for (const change of changes) {
    const withdrawn = change.type === 'withdraw';
    const row = there.get(withdrawn ? change.id : change.notification.id);
    if (row?.visible === !withdrawn || (row === undefined && withdrawn)) continue;
    const id = lastId + entries.length + 1;
    let known: Known;
    if (row !== undefined) known = row;
    else if (withdrawn) continue;
    else {
      const { id: name, account, type, at, body } = change.notification;
      known = { id: name, account, type, at, visible: true, fresh: { seq: id, body } };
      there.set(name, known);
    }
    known.visible = !withdrawn;
    entries.push({ id, withdrawn, account: known.account, notification: known.id });
    const { id: notification, account, type, at: due } = known;
    if (!withdrawn && !shown.has(notification)) shown.set(notification, { notification, account, type, due });
  }
  const changed = new Set(entries.map(({ notification }) => notification));
  const hidden = [...changed].filter((id) => there.get(id)?.visible === false);
  return { entries, shown: [...shown.values()], hidden };
}
