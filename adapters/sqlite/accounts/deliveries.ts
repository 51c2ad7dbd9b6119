import type { ClaimedDelivery, Delivery, DeliveryStore } from 'intentbook';
import { toHex } from '../rows.ts';
import type { SqliteSession } from '../session.ts';
import type { SubscriptionRow } from './subscriptions.ts';
import { readSubscription, subscriptionColumns } from './subscriptions.ts';

/** Codes are indexes in this list. They are stored in files: append only. */
const DELIVERY_STATES = ['pending', 'delivered', 'dead', 'dropped'] as const;

type Argument<Method extends keyof DeliveryStore> = Parameters<DeliveryStore[Method]>[0];

/** Creates the operations on deliveries. They are synchronous: a call has taken effect when it returns. */
export function createDeliveryTable({ prefix: p, prepare, read, write }: SqliteSession) {
  // Skips from one subscription with pending deliveries to the next, independent of the number of deliveries. The
  // planner would prefer the index of states, and read all pending rows at each step.
  const pending = `FROM ${p}deliveries INDEXED BY ${p}deliveries_pending WHERE state = 0`;
  const heads =
    `WITH RECURSIVE heads (subscription) AS (SELECT min(subscription) ${pending} UNION ALL ` +
    `SELECT (SELECT min(subscription) ${pending} AND subscription > heads.subscription) FROM heads ` +
    'WHERE heads.subscription IS NOT NULL) ' +
    `SELECT d.seq, d.due, d.subscription FROM heads JOIN ${p}deliveries d ON d.seq = ` +
    `(SELECT min(seq) ${pending} AND subscription = heads.subscription)`;
  const dueHeads = prepare(
    'SELECT seq FROM (SELECT h.seq, h.due, row_number() OVER (PARTITION BY s.account ORDER BY h.due, h.seq) AS ordinal ' +
      `FROM (${heads}) h JOIN ${p}subscriptions s ON s.n = h.subscription WHERE NOT (h.due > ? AND h.due <= ?) ` +
      'AND s.account NOT IN (SELECT unhex(substr(value, 3)) FROM json_each(?)) ' +
      'AND s.channel NOT IN (SELECT value FROM json_each(?))) WHERE ordinal <= ? ORDER BY ordinal, due, seq LIMIT ?',
  ).pluck();
  const nextDue = prepare(`SELECT min(due) FROM (${heads}) WHERE due > ? AND due <= ?`).pluck();
  const take = prepare(`UPDATE ${p}deliveries SET attempts = attempts + 1, claims = claims + 1, due = ? WHERE seq = ?`);
  const claimed = prepare(
    `SELECT d.seq, n.id, n.body, d.attempts, d.claims, ${subscriptionColumns} FROM ${p}deliveries d ` +
      `JOIN ${p}subscriptions s ON s.n = d.subscription JOIN ${p}notifications n ON n.seq = d.notification WHERE d.seq = ?`,
  ).raw();
  const deliver = prepare(
    `UPDATE ${p}deliveries SET state = 1, error = NULL WHERE seq = ? AND claims = ? AND state IN (0, 3)`,
  );
  const retry = prepare(`UPDATE ${p}deliveries SET due = ?, error = ? WHERE seq = ? AND claims = ? AND state = 0`);
  const release = prepare(
    `UPDATE ${p}deliveries SET due = ?, attempts = attempts - 1 WHERE seq = ? AND claims = ? AND state = 0`,
  );
  const markDead = prepare(`UPDATE ${p}deliveries SET state = 2, error = ? WHERE seq = ? AND claims = ? AND state = 0`);
  const list = prepare(
    `SELECT d.seq, s.id, n.id, s.account, s.channel, d.state, d.attempts, d.error FROM ${p}deliveries d ` +
      `JOIN ${p}subscriptions s ON s.n = d.subscription JOIN ${p}notifications n ON n.seq = d.notification ` +
      'WHERE d.state = ? AND d.seq > ? ORDER BY d.seq LIMIT ?',
  ).raw();
  const selectCount = prepare(`SELECT count(*) FROM ${p}deliveries WHERE state = ?`).pluck();
  const getCount = (state: Delivery['state']) => selectCount.get(DELIVERY_STATES.indexOf(state)) as number; // a count
  const dead = prepare(`SELECT seq FROM ${p}deliveries WHERE state = 2 ORDER BY seq`).pluck();
  const dropWithdrawn = prepare(
    `UPDATE ${p}deliveries SET state = 3 WHERE seq = ? AND state = 2 AND EXISTS ` +
      `(SELECT 1 FROM ${p}notifications n WHERE n.seq = notification AND n.visible = 0)`,
  );
  const replay = prepare(
    `UPDATE ${p}deliveries SET state = 0, attempts = 0, error = NULL, due = ? WHERE seq = ? AND state = 2`,
  );

  function run(seq: number, claim: number, outcome: Argument<'recordResult'>['outcome']) {
    switch (outcome.status) {
      case 'delivered':
        return deliver.run(seq, claim);
      case 'dead':
        return markDead.run(outcome.error, seq, claim);
      case 'retry':
        return retry.run(outcome.at, outcome.error, seq, claim);
      case 'released':
        return release.run(outcome.at, seq, claim);
    }
  }

  return {
    claim: ({
      now,
      until,
      limit,
      maxDelay = UNLIMITED_DELAY,
      perAccount = UNLIMITED,
      busy = NONE_BUSY,
    }: Argument<'claim'>) =>
      write('claim deliveries', () => {
        const [accounts, channels] = [JSON.stringify(busy.accounts), JSON.stringify(busy.channels)];
        // An integer column.
        const seqs = dueHeads.all(now, now + maxDelay, accounts, channels, perAccount, limit) as number[];
        const deliveries = seqs.map((seq): ClaimedDelivery => {
          take.run(until, seq);
          const [, notification, body, attempt, claim, ...subscription] = claimed.get(seq) as ClaimedRow; // as selected
          return { seq, subscription: readSubscription(subscription), notification, body, attempt, claim };
        });
        // An integer, or null if none is pending.
        return { claimed: deliveries, next: nextDue.get(now, now + maxDelay) as number | null };
      }),

    recordResult: ({ seq, claim, outcome }: Argument<'recordResult'>) =>
      write('record the result of a delivery', (): 'recorded' | 'lost' => {
        return run(seq, claim, outcome).changes > 0 ? 'recorded' : 'lost';
      }),

    list: ({ state, after = 0, limit }: Argument<'list'>) =>
      read(
        'read deliveries',
        () => (list.all(DELIVERY_STATES.indexOf(state), after, limit) as ListedRow[]).map(readDelivery), // as selected
      ),

    count: () => read('count deliveries', () => ({ pending: getCount('pending'), dead: getCount('dead') })),

    replay: ({ seqs, now }: Argument<'replay'>) =>
      write(
        'replay deliveries',
        () =>
          (seqs ?? (dead.all() as number[])) // an integer column
            .filter((seq) => {
              dropWithdrawn.run(seq);
              return replay.run(now, seq).changes > 0;
            }).length,
      ),
  };
}

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
  ...subscription: SubscriptionRow,
];
type ListedRow = readonly [number, string, string, Buffer, string, number, number, string | null];

function readDelivery(row: ListedRow): Delivery {
  const [seq, subscription, notification, account, channel, state, attempts, error] = row;
  return {
    seq,
    subscription,
    notification,
    account: toHex(account),
    channel,
    attempts,
    error,
    state: DELIVERY_STATES[state] as Delivery['state'], // the table checks the range
  };
}
