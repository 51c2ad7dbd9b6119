import type { ClaimedDelivery, Clock, Delivery, DeliveryLane, DeliveryStore } from 'intentbook';
import { CLAIM_WINDOW, type DueDelivery, getLaneLimit, selectDeliveries } from 'intentbook/store-kit';
import { DELIVERY_STATES, readSubscription, type SubscriptionRow } from '#internal';
import { toHexText } from '../rows.ts';
import type { AccountOperations, SqliteSession } from '../session.ts';
import { subscriptionColumns } from './subscriptions.ts';

type Argument<Method extends keyof DeliveryStore> = Parameters<DeliveryStore[Method]>[0];

/** Creates the operations on deliveries. They are synchronous: a call has taken effect when it returns. */
export function createDeliveryTable(session: SqliteSession, clock: Clock): AccountOperations['deliveries'] {
  const { prefix: p, prepare, read, write } = session;
  const record = createResultWriter(session, clock);
  // Skips from one lane to the next, with one index lookup for each.
  const heads = `FROM ${p}subscriptions INDEXED BY ${p}subscriptions_due WHERE head IS NOT NULL`;
  const lanes = prepare(
    `WITH RECURSIVE lanes (channel, reliable) AS (SELECT * FROM (SELECT channel, reliable ${heads} ` +
      'ORDER BY channel, reliable LIMIT 1) UNION ALL SELECT s.channel, s.reliable FROM lanes l ' +
      // A comparison of both columns would walk all rows of the channel.
      `JOIN ${p}subscriptions s ON s.n = coalesce((SELECT n ${heads} AND channel = l.channel ` +
      `AND reliable > l.reliable LIMIT 1), (SELECT n ${heads} AND channel > l.channel ` +
      'ORDER BY channel, reliable LIMIT 1))) SELECT channel, reliable FROM lanes',
  ).raw();
  const dueHeads = prepare(
    `SELECT head AS seq, head_due AS due, hex(account) AS account ${heads} AND channel = ? AND reliable = ? ` +
      'AND head_due > ? AND head_due <= ? AND account NOT IN (SELECT unhex(substr(value, 3)) FROM json_each(?)) ' +
      'ORDER BY head_due, head LIMIT ?',
  );
  const nextDue = prepare(
    `SELECT head_due ${heads} AND channel = ? AND reliable = ? AND head_due > ? AND head_due <= ? ` +
      'ORDER BY head_due LIMIT 1',
  ).pluck();
  const take = prepare(`UPDATE ${p}deliveries SET attempts = attempts + 1, claims = claims + 1, due = ? WHERE seq = ?`);
  const claimed = prepare(
    `SELECT n.id AS notification, n.body, d.attempts AS attempt, d.claims AS claim, ${subscriptionColumns} FROM ${p}deliveries d ` +
      `JOIN ${p}subscriptions s ON s.n = d.subscription JOIN ${p}notifications n ON n.seq = d.notification WHERE d.seq = ?`,
  );
  const countSuspended = prepare(`SELECT count(*) FROM ${p}subscriptions WHERE suspended = 1`).pluck();
  const list = prepare(
    `SELECT d.seq, s.id AS subscription, n.id AS notification, ${toHexText('s.account')} AS account, s.channel, ` +
      `d.attempts, d.error FROM ${p}deliveries d ` +
      `JOIN ${p}subscriptions s ON s.n = d.subscription JOIN ${p}notifications n ON n.seq = d.notification ` +
      'WHERE d.state = ? AND d.seq > ? ORDER BY d.seq LIMIT ?',
  );
  const selectCount = prepare(`SELECT count(*) FROM ${p}deliveries WHERE state = ?`).pluck();
  const getCount = (state: Delivery['state']) => selectCount.get(DELIVERY_STATES.indexOf(state)) as number; // a count
  const replay = createReplay(session);
  function findDue(request: Argument<'claim'>, lane: DeliveryLane): DueDelivery[] {
    const { now: at, maxDelay = UNLIMITED_DELAY, busyAccounts = [] } = request;
    const find = (after: number, through: number, limit: number) =>
      dueHeads.all(lane.channel, Number(lane.isReliable), after, through, JSON.stringify(busyAccounts), limit);
    const found = find(Number.MIN_SAFE_INTEGER, at, CLAIM_WINDOW);
    const later = find(at + maxDelay, Number.MAX_SAFE_INTEGER, CLAIM_WINDOW - found.length);
    const rows = [...found, ...later] as Omit<DueDelivery, keyof DeliveryLane>[]; // as selected
    return rows.map((row) => ({ ...lane, ...row }));
  }

  function claim(request: Argument<'claim'>): Awaited<ReturnType<DeliveryStore['claim']>> {
    const { now: at, until, maxDelay = UNLIMITED_DELAY } = request;
    const rows = lanes.all() as [channel: string, reliable: number][]; // as selected
    const all = rows.map(([channel, reliable]) => ({ channel, isReliable: reliable === 1 }));
    const due = all.flatMap((lane) => (getLaneLimit(request, lane) === 0 ? [] : findDue(request, lane)));
    const deliveries = selectDeliveries(due, request).map(({ seq, isReliable }): ClaimedDelivery => {
      take.run(until, seq);
      const { notification, body, attempt, claim: number, ...row } = claimed.get(seq) as ClaimedRow; // as selected
      return { seq, subscription: readSubscription(row), notification, body, attempt, claim: number, isReliable };
    });
    const times = rows.flatMap(([channel, reliable]) => {
      const time = nextDue.get(channel, reliable, at, at + maxDelay) as number | undefined; // an integer column
      return time === undefined ? [] : [time];
    });
    return { claimed: deliveries, next: times.length === 0 ? null : Math.min(...times) };
  }

  return {
    claim: (request) => write('claim deliveries', () => claim(request)),

    recordResult: (request) => write('record the result of a delivery', () => (record(request) ? 'recorded' : 'lost')),

    list: ({ state, after = 0, limit }) =>
      read('read deliveries', () => {
        const rows = list.all(DELIVERY_STATES.indexOf(state), after, limit) as Omit<Delivery, 'state'>[]; // as selected
        return rows.map((row) => ({ ...row, state }));
      }),

    count: () =>
      read('count deliveries', () => ({
        pending: getCount('pending'),
        dead: getCount('dead'),
        suspended: countSuspended.get() as number, // a count
      })),

    replay: (request) => write('replay deliveries', () => replay(request)),
  };
}

/** Returns SQL that selects the subscription of a delivery. */
const subscriptionOf = (p: string) => `(SELECT subscription FROM ${p}deliveries WHERE seq = ?)`;

/** Creates the function that records a result. It returns whether the claim is the current one. */
function createResultWriter({ prefix: p, prepare }: SqliteSession, clock: Clock) {
  const deliver = prepare(
    `UPDATE ${p}deliveries SET state = 1, error = NULL WHERE seq = ? AND claims = ? AND state IN (0, 3)`,
  );
  const retry = prepare(`UPDATE ${p}deliveries SET due = ?, error = ? WHERE seq = ? AND claims = ? AND state = 0`);
  const release = prepare(
    `UPDATE ${p}deliveries SET due = ?, attempts = attempts - 1 WHERE seq = ? AND claims = ? AND state = 0`,
  );
  const markDead = prepare(`UPDATE ${p}deliveries SET state = 2, error = ? WHERE seq = ? AND claims = ? AND state = 0`);
  const succeed = prepare(
    `UPDATE ${p}subscriptions SET reliable = 1, failing_since = NULL WHERE n = ${subscriptionOf(p)}`,
  );
  const fail = prepare(
    `UPDATE ${p}subscriptions SET reliable = 0, failing_since = coalesce(failing_since, ?) WHERE n = ${subscriptionOf(p)} ` +
      'RETURNING n',
  ).pluck();
  const suspend = prepare(`UPDATE ${p}subscriptions SET active = 0, suspended = 1 WHERE n = ?`);
  const endPending = prepare(
    `UPDATE ${p}deliveries INDEXED BY ${p}deliveries_pending SET state = 2, error = ? ` +
      'WHERE state = 0 AND subscription = ?',
  );

  return ({ seq, claim, outcome }: Argument<'recordResult'>): boolean => {
    switch (outcome.status) {
      case 'delivered':
        return deliver.run(seq, claim).changes > 0 && succeed.run(seq).changes > 0;
      case 'released':
        return release.run(outcome.at, seq, claim).changes > 0;
      case 'retry':
        return retry.run(outcome.at, outcome.error, seq, claim).changes > 0 && fail.get(clock.now(), seq) !== undefined;
      case 'dead':
      case 'suspended': {
        if (markDead.run(outcome.error, seq, claim).changes === 0) return false;
        const subscription = fail.get(clock.now(), seq);
        if (outcome.status === 'suspended') {
          endPending.run(outcome.error, subscription);
          suspend.run(subscription);
        }
        return true;
      }
    }
  };
}

/** Creates the function that makes dead deliveries pending again. It returns their number. */
function createReplay({ prefix: p, prepare }: SqliteSession) {
  const resume = prepare(
    `UPDATE ${p}subscriptions SET active = 1, suspended = 0, failing_since = NULL ` +
      `WHERE suspended = 1 AND n = ${subscriptionOf(p)}`,
  );
  const dead = prepare(`SELECT seq FROM ${p}deliveries WHERE state = 2 ORDER BY seq`).pluck();
  const dropWithdrawn = prepare(
    `UPDATE ${p}deliveries SET state = 3 WHERE seq = ? AND state = 2 AND EXISTS ` +
      `(SELECT 1 FROM ${p}notifications n WHERE n.seq = notification AND n.visible = 0)`,
  );
  const reset = prepare(
    `UPDATE ${p}deliveries SET state = 0, attempts = 0, error = NULL, due = ? WHERE seq = ? AND state = 2`,
  );

  return ({ seqs, now }: Argument<'replay'>): number => {
    const found = seqs ?? (dead.all() as number[]); // an integer column
    const replayed = found.filter((seq) => {
      dropWithdrawn.run(seq);
      if (reset.run(now, seq).changes === 0) return false;
      resume.run(seq);
      return true;
    });
    return replayed.length;
  };
}

/** Milliseconds. A sum with a time is a safe integer. */
const UNLIMITED_DELAY = 2 ** 52;

type ClaimedRow = SubscriptionRow & Pick<ClaimedDelivery, 'notification' | 'body' | 'attempt' | 'claim'>;
