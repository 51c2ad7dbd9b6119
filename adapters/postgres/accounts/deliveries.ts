import type { Address, ClaimedDelivery, Delivery, DeliveryCounts, DeliveryStore } from 'intentbook';
import { CLAIM_WINDOW, DELIVERY_WINDOW, type DueDelivery, selectDeliveries } from 'intentbook/store-kit';
import { DELIVERY_STATES, readSubscription, type SubscriptionRow } from '#internal';
import type { Query } from '../query.ts';
import { toBytes } from '../rows.ts';
import type { PostgresSession } from '../session.ts';
import type { AcquireLock } from './serial-lock.ts';
import { subscriptionColumns } from './subscriptions.ts';

/** A notification to deliver to the subscriptions of its account and type. */
export interface AddedDelivery {
  readonly notification: string;
  readonly account: Address;
  readonly type: string;
  /** Time of the notification, in milliseconds. */
  readonly at: number;
}

export type Outbox = ReturnType<typeof createOutbox>;

const [PENDING, DELIVERED, DEAD, DROPPED] = DELIVERY_STATES.keys();

/** Milliseconds. A sum with a time is a safe integer. */
const UNLIMITED_DELAY = 2 ** 52;

/** Maximum number of rounds of a claim. Each further round follows after another process has taken deliveries. */
const MAX_ROUNDS = 10;

/** A lane, and one of its deliveries; `id` is null if none is due. */
type LaneRow = DueDelivery & { readonly id: string | null; readonly next: number | null };

type ClaimedRow = SubscriptionRow & Omit<ClaimedDelivery, 'subscription' | 'isReliable'>;

type Argument<Method extends keyof DeliveryStore> = Parameters<DeliveryStore[Method]>[0];

/** Creates the changes of deliveries by notifications, in the transaction that holds the lock of the log. */
export function createOutbox({ schema: s, prepare }: PostgresSession, now: () => number) {
  // Waits for a subscription that is being removed, and then omits it. Subscriptions are locked in the order of their
  // ids, like by a claim, so that both cannot cause a deadlock.
  const add = prepare(
    `WITH locked AS (SELECT * FROM ${s}.subscriptions WHERE account = ANY($2::bytea[]) AND active ORDER BY id ` +
      'FOR NO KEY UPDATE), wanted AS (SELECT n.ordinal AS batch_ordinal, w.ordinal, w.id, n.notification, least(n.at, $5::bigint) AS due ' +
      'FROM unnest($1::text[], $2::bytea[], $3::text[], $4::bigint[]) WITH ORDINALITY ' +
      'n (notification, account, type, at, ordinal) ' +
      `JOIN locked w ON w.account = n.account AND n.type = ANY(w.types) AND least(w.created, $5::bigint) <= n.at + ${DELIVERY_WINDOW}) ` +
      `INSERT INTO ${s}.deliveries AS d (subscription, notification, due) ` +
      'SELECT id, notification, due FROM wanted ORDER BY batch_ordinal, ordinal ' +
      `ON CONFLICT (notification, subscription) DO UPDATE SET state = ${PENDING} WHERE d.state = ${DROPPED}`,
  );
  const drop = prepare(
    `UPDATE ${s}.deliveries SET state = ${DROPPED} WHERE notification = ANY($1::text[]) AND state = ${PENDING}`,
  );
  return {
    async add(run: Query, shown: readonly AddedDelivery[]): Promise<void> {
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
    async drop(run: Query, notifications: readonly string[]): Promise<void> {
      if (notifications.length > 0) await run(drop, notifications);
    },
  };
}

/** Creates the delivery operations for any number of processes: each waits for a claim of another one. */
export function createDeliveryTable(
  { schema: s, prepare, prepareObjects, read, write }: PostgresSession,
  acquireLock: AcquireLock,
  getTime: () => number,
): DeliveryStore {
  // Skips from one lane to the next, and from there to its deliveries, with one index lookup for each.
  const heads = `FROM ${s}.subscriptions w WHERE w.head IS NOT NULL`;
  const ofLane = `${heads} AND w.channel = l.channel AND w.reliable = l.reliable`;
  const inOrder = 'ORDER BY w.channel, w.reliable, w.head_due, w.head';
  const window = (condition: string) =>
    `(SELECT w.id, w.head, w.head_due, w.account ${ofLane} AND ${condition} AND w.account <> ALL($3::bytea[]) ` +
    `AND l.channel || ' ' || l.reliable <> ALL($4::text[]) ${inOrder} LIMIT ${CLAIM_WINDOW})`;
  const find = prepareObjects<LaneRow>(
    `WITH RECURSIVE lanes AS ((SELECT w.channel, w.reliable ${heads} ${inOrder} LIMIT 1) UNION ALL ` +
      `SELECT n.* FROM lanes l CROSS JOIN LATERAL (SELECT w.channel, w.reliable ${heads} ` +
      `AND (w.channel, w.reliable) > (l.channel, l.reliable) ${inOrder} LIMIT 1) n) ` +
      `SELECT l.channel, l.reliable AS "isReliable", (SELECT w.head_due ${ofLane} AND w.head_due > $1 AND w.head_due <= $2 ` +
      `${inOrder} LIMIT 1) AS next, d.id, d.head AS seq, d.head_due AS due, d.account FROM lanes l LEFT JOIN LATERAL ` +
      `(SELECT * FROM (${window('w.head_due <= $1')} UNION ALL ${window('w.head_due > $2')}) u ` +
      `ORDER BY head_due, head LIMIT ${CLAIM_WINDOW}) d ON true`,
  );
  // Another process may have taken them since they were found.
  const lock = prepare<readonly [number]>(
    `SELECT w.head FROM ${s}.subscriptions w JOIN unnest($1::text[], $2::bigint[], $3::bigint[]) f (id, head, due) ` +
      'ON f.id = w.id WHERE w.head = f.head AND w.head_due = f.due ORDER BY w.id FOR NO KEY UPDATE OF w',
  );
  const take = prepareObjects<ClaimedRow>(
    `WITH taken AS (UPDATE ${s}.deliveries SET attempts = attempts + 1, claims = claims + 1, due = $2 ` +
      'WHERE seq = ANY($1::bigint[]) RETURNING seq, subscription, notification, attempts, claims) ' +
      `SELECT t.seq, t.notification, n.body, t.attempts AS attempt, t.claims AS claim, ${subscriptionColumns} FROM taken t ` +
      `JOIN ${s}.notifications n ON n.id = t.notification JOIN ${s}.subscriptions w ON w.id = t.subscription ` +
      'ORDER BY array_position($1::bigint[], t.seq)',
  );
  const update = `UPDATE ${s}.deliveries SET`;
  const delivered = prepare<readonly [string]>(
    `${update} state = ${DELIVERED}, error = NULL WHERE seq = $1 AND claims = $2 ` +
      `AND state IN (${PENDING}, ${DROPPED}) RETURNING subscription`,
  );
  const retry = prepare<readonly [string]>(
    `${update} due = $3, error = $4 WHERE seq = $1 AND claims = $2 AND state = ${PENDING} RETURNING subscription`,
  );
  const release = prepare<readonly [string]>(
    `${update} due = $3, attempts = attempts - 1 WHERE seq = $1 AND claims = $2 AND state = ${PENDING} RETURNING subscription`,
  );
  const dead = prepare<readonly [string]>(
    `${update} state = ${DEAD}, error = $3 WHERE seq = $1 AND claims = $2 AND state = ${PENDING} RETURNING subscription`,
  );
  const succeed = prepare(
    `UPDATE ${s}.subscriptions SET reliable = true, failing_since = NULL WHERE id = $1 ` +
      'AND (NOT reliable OR failing_since IS NOT NULL)',
  );
  const fail = prepare(
    `UPDATE ${s}.subscriptions SET reliable = false, failing_since = coalesce(failing_since, $2) WHERE id = $1`,
  );
  const suspend = prepare(`UPDATE ${s}.subscriptions SET active = false, suspended = true WHERE id = $1`);
  const endPending = prepare(`${update} state = ${DEAD}, error = $2 WHERE subscription = $1 AND state = ${PENDING}`);
  const list = prepareObjects<Omit<Delivery, 'state'>>(
    `SELECT d.seq, d.subscription, d.notification, w.account, w.channel, d.attempts, d.error FROM ${s}.deliveries d ` +
      `JOIN ${s}.subscriptions w ON w.id = d.subscription WHERE d.state = $1 AND d.seq > $2 ORDER BY d.seq LIMIT $3`,
  );
  const count = prepareObjects<DeliveryCounts>(
    `SELECT (SELECT count(*) FROM ${s}.deliveries WHERE state = ${PENDING}) AS pending, ` +
      `(SELECT count(*) FROM ${s}.deliveries WHERE state = ${DEAD}) AS dead, ` +
      `(SELECT count(*) FROM ${s}.subscriptions WHERE suspended) AS suspended`,
  );
  const replay = prepare<readonly [string]>(
    `WITH replayed AS (UPDATE ${s}.deliveries d SET state = CASE WHEN n.visible THEN ${PENDING} ELSE ${DROPPED} END, ` +
      'attempts = CASE WHEN n.visible THEN 0 ELSE d.attempts END, due = CASE WHEN n.visible THEN $2 ELSE d.due END, ' +
      `error = CASE WHEN n.visible THEN NULL ELSE d.error END FROM ${s}.notifications n WHERE n.id = d.notification ` +
      `AND d.state = ${DEAD} AND ($1::bigint[] IS NULL OR d.seq = ANY($1::bigint[])) RETURNING n.visible, d.subscription) ` +
      'SELECT subscription FROM replayed WHERE visible',
  );
  const resume = prepare(
    `UPDATE ${s}.subscriptions SET active = true, suspended = false, failing_since = NULL ` +
      'WHERE suspended AND id = ANY($1::text[])',
  );

  /** Claims deliveries that no other process takes meanwhile. Returns those, and what remains to be claimed. */
  async function claimRound(run: Query, request: Argument<'claim'>) {
    const { now, until, maxDelay = UNLIMITED_DELAY, busyAccounts = [], lanes = [] } = request;
    const closed = lanes.flatMap((lane) => (lane.limit > 0 ? [] : [`${lane.channel} ${lane.isReliable}`]));
    const rows = await run(find, now, now + maxDelay, busyAccounts.map(toBytes), closed);
    const due = rows.flatMap(({ id, ...row }) => (id === null ? [] : [{ ...row, id }]));
    const selected = selectDeliveries(due, request);
    const times = rows.flatMap(({ next }) => next ?? []);
    if (selected.length === 0) return { claimed: [], times, isComplete: true };
    const columns = [selected.map(({ id }) => id), selected.map(({ seq }) => seq), selected.map((each) => each.due)];
    const locked = new Set((await run(lock, ...columns)).map(([head]) => head));
    const taken = selected.filter(({ seq }) => locked.has(seq));
    const seqs = taken.map(({ seq }) => seq);
    const claimed = (await run(take, seqs, until)).map((row, i): ClaimedDelivery => {
      const { seq, notification, body, attempt, claim, ...subscription } = row;
      const isReliable = taken[i]?.isReliable === true;
      return { seq, subscription: readSubscription(subscription), notification, body, attempt, claim, isReliable };
    });
    if (claimed.length > 0 && until > now && until <= now + maxDelay) times.push(until);
    return { claimed, times, isComplete: taken.length === selected.length };
  }

  return {
    claim: (request) =>
      write('claim deliveries', async (run) => {
        for (let round = 1; ; round++) {
          const { claimed, times, isComplete } = await claimRound(run, request);
          if (!isComplete && claimed.length === 0 && round < MAX_ROUNDS) continue;
          return { claimed, next: times.length === 0 ? null : Math.min(...times) };
        }
      }),

    recordResult: ({ seq, claim, outcome }) =>
      write('record the result of a delivery', async (run) => {
        const record = () => {
          if (outcome.status === 'delivered') return run(delivered, seq, claim);
          if (outcome.status === 'released') return run(release, seq, claim, outcome.at);
          if (outcome.status === 'retry') return run(retry, seq, claim, outcome.at, outcome.error);
          return run(dead, seq, claim, outcome.error);
        };
        const [[subscription] = []] = await record();
        if (subscription === undefined) return 'lost';
        if (outcome.status === 'delivered') await run(succeed, subscription);
        else if (outcome.status !== 'released') await run(fail, subscription, getTime());
        if (outcome.status === 'suspended') {
          await run(endPending, subscription, outcome.error);
          await run(suspend, subscription);
        }
        return 'recorded';
      }),

    list: ({ state, after = 0, limit }) =>
      read('list deliveries', async (run) => {
        const rows = await run(list, DELIVERY_STATES.indexOf(state), after, limit);
        return rows.map((row) => ({ ...row, state }));
      }),

    count: () =>
      read('count deliveries', async (run) => {
        const [counts = { pending: 0, dead: 0, suspended: 0 }] = await run(count);
        return counts;
      }),

    replay: ({ seqs, now }) =>
      write('replay deliveries', async (run) => {
        // The lock prevents that notifications are withdrawn concurrently.
        await acquireLock(run, 'log');
        const replayed = (await run(replay, seqs ?? null, now)).map(([subscription]) => subscription);
        if (replayed.length > 0) await run(resume, [...new Set(replayed)]);
        return replayed.length;
      }),
  };
}
