import type { Address, Delivery, DeliveryStore } from 'intentbook';
import { DELIVERY_WINDOW } from 'intentbook/store-kit';
import type { Query } from '../query.ts';
import { toBytes } from '../rows.ts';
import type { PostgresSession } from '../session.ts';
import type { AcquireLock } from './serial-lock.ts';
import type { PgSubscriptionRow } from './subscriptions.ts';
import { readSubscription, subscriptionColumns } from './subscriptions.ts';

/** A notification to deliver to the subscriptions of its account and type. */
export interface AddedDelivery {
  readonly notification: string;
  readonly account: Address;
  readonly type: string;
  /** Time of the notification, in milliseconds. */
  readonly at: number;
}

/** Changes of deliveries by notifications, within the transaction that holds the lock of the log. */
export interface Outbox {
  add(run: Query, shown: readonly AddedDelivery[]): Promise<void>;
  drop(run: Query, notifications: readonly string[]): Promise<void>;
}

/** Codes are indexes in this list. They are stored in databases: append only. */
const STATES = ['pending', 'delivered', 'dead', 'dropped'] as const;
const [PENDING, DELIVERED, DEAD, DROPPED] = [0, 1, 2, 3];

const UNLIMITED = 2 ** 31 - 1;
/** Milliseconds. A sum with a time is a safe integer. */
const UNLIMITED_DELAY = 2 ** 52;
const NONE_BUSY = { accounts: [], channels: [] };

type ClaimedRow = readonly [
  seq: number,
  notification: string,
  body: string,
  attempts: number,
  claims: number,
  ...subscription: PgSubscriptionRow,
];

type DeliveryRow = readonly [
  seq: number,
  subscription: string,
  notification: string,
  account: Address,
  channel: string,
  attempts: number,
  error: string | null,
];

export function createOutbox({ schema: s, prepare }: PostgresSession, now: () => number): Outbox {
  // Waits for a subscription that is being removed, and then omits it.
  const add = prepare(
    `WITH wanted AS (SELECT n.ordinal AS batch_ordinal, w.ordinal, w.id, n.notification, least(n.at, $5::bigint) AS due ` +
      'FROM unnest($1::text[], $2::bytea[], $3::text[], $4::bigint[]) WITH ORDINALITY ' +
      'n (notification, account, type, at, ordinal) ' +
      `JOIN ${s}.subscriptions w ON w.account = n.account AND w.active AND n.type = ANY(w.types) ` +
      `AND w.created <= n.at + ${DELIVERY_WINDOW} FOR KEY SHARE OF w) ` +
      `INSERT INTO ${s}.deliveries AS d (subscription, notification, due) ` +
      'SELECT id, notification, due FROM wanted ORDER BY batch_ordinal, ordinal ' +
      `ON CONFLICT (notification, subscription) DO UPDATE SET state = ${PENDING} WHERE d.state = ${DROPPED}`,
  );
  const drop = prepare(
    `UPDATE ${s}.deliveries SET state = ${DROPPED} WHERE notification = ANY($1::text[]) AND state = ${PENDING}`,
  );
  return {
    async add(run, shown) {
      if (shown.length === 0) return;
      await run(
        add,
        shown.map(({ notification }) => notification),
        shown.map(({ account }) => toBytes(account)),
        shown.map(({ type }) => type),
        shown.map(({ at }) => at),
        now(),
      );
    },
    async drop(run, notifications) {
      if (notifications.length > 0) await run(drop, notifications);
    },
  };
}

/** Creates the delivery operations for any number of processes: each skips the rows that another has locked. */
export function createDeliveryTable(
  { schema: s, prepare, read, write }: PostgresSession,
  acquireLock: AcquireLock,
): DeliveryStore {
  // Skips from one subscription with pending deliveries to the next, with one index lookup for each.
  const first = `SELECT d.subscription, d.seq, d.due FROM ${s}.deliveries d WHERE d.state = ${PENDING}`;
  const heads =
    `WITH RECURSIVE heads AS ((${first} ORDER BY d.subscription, d.seq LIMIT 1) UNION ALL ` +
    `SELECT n.* FROM heads h CROSS JOIN LATERAL (${first} AND d.subscription > h.subscription ` +
    'ORDER BY d.subscription, d.seq LIMIT 1) n)';
  const due = prepare<readonly [number]>(
    `${heads}, free AS (SELECT h.seq, h.due, row_number() OVER (PARTITION BY w.account ORDER BY h.due, h.seq) AS ordinal ` +
      `FROM heads h JOIN ${s}.subscriptions w ON w.id = h.subscription ` +
      'WHERE NOT (h.due > $1 AND h.due <= $6) AND w.account <> ALL($3::bytea[]) AND w.channel <> ALL($4::text[])) ' +
      `SELECT d.seq FROM free f JOIN ${s}.deliveries d ON d.seq = f.seq ` +
      `WHERE d.state = ${PENDING} AND NOT (d.due > $1 AND d.due <= $6) AND f.ordinal <= $5 ` +
      'ORDER BY f.ordinal, f.due, f.seq LIMIT $2 FOR UPDATE OF d SKIP LOCKED',
  );
  const take = prepare<ClaimedRow>(
    `WITH taken AS (UPDATE ${s}.deliveries SET attempts = attempts + 1, claims = claims + 1, due = $2 ` +
      'WHERE seq = ANY($1::bigint[]) RETURNING seq, subscription, notification, attempts, claims) ' +
      `SELECT t.seq, t.notification, n.body, t.attempts, t.claims, ${subscriptionColumns} FROM taken t ` +
      `JOIN ${s}.notifications n ON n.id = t.notification JOIN ${s}.subscriptions w ON w.id = t.subscription ` +
      'ORDER BY array_position($1::bigint[], t.seq)',
  );
  const next = prepare<readonly [number | null]>(`${heads} SELECT min(due) FROM heads WHERE due > $1 AND due <= $2`);
  const update = `UPDATE ${s}.deliveries SET`;
  const delivered = prepare<readonly [number]>(
    `${update} state = ${DELIVERED}, error = NULL WHERE seq = $1 AND claims = $2 ` +
      `AND state IN (${PENDING}, ${DROPPED}) RETURNING 1`,
  );
  const retry = prepare<readonly [number]>(
    `${update} due = $3, error = $4 WHERE seq = $1 AND claims = $2 AND state = ${PENDING} RETURNING 1`,
  );
  const release = prepare<readonly [number]>(
    `${update} due = $3, attempts = attempts - 1 WHERE seq = $1 AND claims = $2 AND state = ${PENDING} RETURNING 1`,
  );
  const dead = prepare<readonly [number]>(
    `${update} state = ${DEAD}, error = $3 WHERE seq = $1 AND claims = $2 AND state = ${PENDING} RETURNING 1`,
  );
  const list = prepare<DeliveryRow>(
    `SELECT d.seq, d.subscription, d.notification, w.account, w.channel, d.attempts, d.error FROM ${s}.deliveries d ` +
      `JOIN ${s}.subscriptions w ON w.id = d.subscription WHERE d.state = $1 AND d.seq > $2 ORDER BY d.seq LIMIT $3`,
  );
  const count = prepare<readonly [pending: number, dead: number]>(
    `SELECT (SELECT count(*) FROM ${s}.deliveries WHERE state = ${PENDING}), ` +
      `(SELECT count(*) FROM ${s}.deliveries WHERE state = ${DEAD})`,
  );
  const replay = prepare<readonly [number]>(
    `WITH replayed AS (UPDATE ${s}.deliveries d SET state = CASE WHEN n.visible THEN ${PENDING} ELSE ${DROPPED} END, ` +
      'attempts = CASE WHEN n.visible THEN 0 ELSE d.attempts END, due = CASE WHEN n.visible THEN $2 ELSE d.due END, ' +
      `error = CASE WHEN n.visible THEN NULL ELSE d.error END FROM ${s}.notifications n WHERE n.id = d.notification ` +
      `AND d.state = ${DEAD} AND ($1::bigint[] IS NULL OR d.seq = ANY($1::bigint[])) RETURNING n.visible) ` +
      'SELECT count(*) FILTER (WHERE visible) FROM replayed',
  );

  return {
    claim: ({ now, until, limit, maxDelay = UNLIMITED_DELAY, perAccount = UNLIMITED, busy = NONE_BUSY }) =>
      write('claim deliveries', async (run) => {
        const found = await run(due, now, limit, busy.accounts.map(toBytes), busy.channels, perAccount, now + maxDelay);
        const seqs = found.map(([seq]) => seq);
        const rows = seqs.length === 0 ? [] : await run(take, seqs, until);
        const claimed = rows.map(([seq, notification, body, attempt, claim, ...subscription]) => ({
          seq,
          subscription: readSubscription(subscription),
          notification,
          body,
          attempt,
          claim,
        }));
        return { claimed, next: (await run(next, now, now + maxDelay))[0]?.[0] ?? null };
      }),

    recordResult: ({ seq, claim, outcome }) =>
      write('record the result of a delivery', async (run) => {
        let rows: readonly unknown[];
        if (outcome.status === 'delivered') rows = await run(delivered, seq, claim);
        else if (outcome.status === 'released') rows = await run(release, seq, claim, outcome.at);
        else if (outcome.status === 'retry') rows = await run(retry, seq, claim, outcome.at, outcome.error);
        else rows = await run(dead, seq, claim, outcome.error);
        return rows.length > 0 ? 'recorded' : 'lost';
      }),

    list: ({ state, after = 0, limit }) =>
      read('list deliveries', async (run) => {
        const rows = await run(list, STATES.indexOf(state), after, limit);
        return rows.map(
          ([seq, subscription, notification, account, channel, attempts, error]): Delivery => ({
            seq,
            subscription,
            notification,
            account,
            channel,
            state,
            attempts,
            error,
          }),
        );
      }),

    count: () =>
      read('count deliveries', async (run) => {
        const [pending = 0, deadCount = 0] = (await run(count))[0] ?? [];
        return { pending, dead: deadCount };
      }),

    replay: ({ seqs, now }) =>
      write('replay deliveries', async (run) => {
        // The lock prevents that notifications are withdrawn concurrently.
        await acquireLock(run, 'log');
        return (await run(replay, seqs ?? null, now))[0]?.[0] ?? 0;
      }),
  };
}
