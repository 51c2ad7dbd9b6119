import { systemClock } from 'intentbook';
import { migratePostgres, postgresAccountStore, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import type { WireOrder } from '../../support/orders.ts';
import { account, signCancellation, signOrder } from '../../support/orders.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import type { SpawnedServer } from './spawn.ts';
import { spawnServer } from './spawn.ts';

const LONG = process.env['TEST_LONG'] !== undefined;
const SERVERS = 4;
const CLIENTS = 12;
const OWNERS = 10;
const QUOTA = 25;

/** Outages of the cluster, each after some more acknowledged orders. */
const OUTAGES = LONG
  ? Array.from({ length: 24 }, (_, i) => (i % 8 === 5 ? 'restart the database' : 'kill a server'))
  : ['kill a server', 'restart the database', 'kill a server'];
/** Maximum number of orders between two outages, which are some seconds apart. */
const BETWEEN = LONG ? 50 : 40;

let database: PostgresServer;
let servers: SpawnedServer[] = [];
const start = () =>
  spawnServer(['--postgres', database.url, '--accounts', database.url, '--max-open-orders', String(QUOTA)]);

beforeAll(async () => {
  // A separate PostgreSQL server, because the test restarts it.
  database = await startPostgres();
  await migratePostgres({ url: database.url });
  await migratePostgres({ url: database.url, of: 'accounts' });
  servers = await Promise.all(Array.from({ length: SERVERS }, start));
});
afterAll(async () => {
  for (const server of servers) await server.end('SIGKILL').catch(() => {});
  await database?.dispose();
});

/** Certain knowledge of the clients, and observed violations. */
interface Observations {
  readonly placed: string[];
  readonly cancelled: string[];
  readonly strange: string[];
  readonly statuses: Map<number | 'broken', number>;
}

/** Sends a request to any server. A broken connection, a 429 or a 500 leaves the outcome unknown. */
async function send(observations: Observations, method: string, path: string, body?: unknown) {
  const server = servers[Math.floor(Math.random() * servers.length)];
  let status: number | 'broken' = 'broken';
  let answer: unknown;
  try {
    const response = await fetch(`${server?.url}${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    answer = await response.json();
    status = response.status;
  } catch {
    await pause(20);
  }
  observations.statuses.set(status, (observations.statuses.get(status) ?? 0) + 1);
  const sure = status !== 'broken' && status !== 429 && status !== 500;
  return { status, answer: answer as { errorType?: string }, sure };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface ClientContext {
  readonly observations: Observations;
  readonly stopped: () => boolean;
}

/** Repeats a request until the outcome is certain. Otherwise orders that no client cancels could fill every quota. */
async function insist({ observations, stopped }: ClientContext, method: string, path: string, body?: unknown) {
  for (let again = false; ; again = true) {
    const answer = await send(observations, method, path, body);
    if (answer.sure || stopped()) return { ...answer, again };
  }
}

/** Submits an order, to two servers at once if necessary. @returns its UID if it is stored for certain. */
async function place(
  context: ClientContext,
  owner: number,
  order: WireOrder,
  twice: boolean,
): Promise<string | undefined> {
  const { observations } = context;
  const answers = await Promise.all(
    Array.from({ length: twice ? 2 : 1 }, () => insist(context, 'POST', '/api/v1/orders', order)),
  );
  const created = answers.filter(({ status }) => status === 201);
  if (created.length > 1) observations.strange.push(`one order was placed ${created.length} times`);
  let search = false;
  for (const { status, answer, sure, again } of answers) {
    const exceeded = answer?.errorType === 'TooManyLimitOrders';
    const duplicate = answer?.errorType === 'DuplicatedOrder' && (twice || again);
    search ||= duplicate || (exceeded && again);
    if (sure && status !== 201 && !exceeded && !duplicate) {
      observations.strange.push(`placing: ${status} ${JSON.stringify(answer)}`);
    }
  }
  let uid = created[0]?.answer as string | undefined;
  if (uid === undefined && search) {
    const path = `/api/v1/account/${account(owner).address}/orders?limit=100`;
    const listed = await insist(context, 'GET', path);
    const orders = listed.status === 200 ? (listed.answer as unknown as { uid: string; signature: string }[]) : [];
    uid = orders.find(({ signature }) => signature === order.signature)?.uid;
  }
  if (uid !== undefined) observations.placed.push(uid);
  return uid;
}

async function cancel(context: ClientContext, { uid, owner }: { uid: string; owner: number }): Promise<void> {
  const { observations } = context;
  const orderUids = [uid];
  const body = { orderUids, ...(await signCancellation(account(owner), { orderUids })) };
  const { status, answer, sure, again } = await insist(context, 'DELETE', '/api/v1/orders', body);
  if (status === 200 || (again && answer?.errorType === 'AlreadyCancelled')) observations.cancelled.push(uid);
  else if (sure) observations.strange.push(`cancelling: ${status} ${JSON.stringify(answer)}`);
}

/** A client that submits, cancels and reads acknowledged orders until it is stopped. */
async function runClient(client: number, context: ClientContext): Promise<void> {
  const mine: { uid: string; owner: number }[] = [];
  for (let n = 0; !context.stopped(); n++) {
    const owner = (client * 7 + n) % OWNERS;
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const sellAmount = `${client + 1}${String(n).padStart(9, '0')}`;
    const uid = await place(context, owner, await signOrder(account(owner), { validTo, sellAmount }), n % 5 === 0);
    if (uid !== undefined) mine.push({ uid, owner });

    const last = mine.at(-1);
    if (last !== undefined) {
      const { sure, status, answer } = await send(context.observations, 'GET', `/api/v1/orders/${last.uid}`);
      if (sure && status !== 200) context.observations.strange.push(`reading: ${status} ${JSON.stringify(answer)}`);
    }
    // If nothing was stored, the owner can be at its quota.
    if (n % 3 !== 2 && uid !== undefined) continue;
    const first = mine.shift();
    if (first !== undefined) await cancel(context, first);
  }
}

interface Log<Entry> {
  after(id: number, limit: number): Promise<readonly Entry[]>;
  last(): Promise<number>;
}

/** Follows an event log through every outage and records the entries up to the end. */
async function follow<Entry extends { readonly id: number }>(log: Log<Entry>, stopped: () => boolean) {
  const seen: Entry[] = [];
  for (;;) {
    const ending = stopped();
    try {
      const page = await log.after(seen.at(-1)?.id ?? 0, 100);
      seen.push(...page);
      if (ending && seen.at(-1)?.id === (await log.last())) return seen;
      if (page.length === 0) await pause(20);
    } catch {
      await pause(20); // while the database is down
    }
  }
}

test(
  `${SERVERS} servers on one database lose no acknowledged order in ${OUTAGES.length} outages`,
  async () => {
    const observations: Observations = { placed: [], cancelled: [], strange: [], statuses: new Map() };
    let over = false;
    const stopped = () => over;
    let [complete, drained] = [false, false];
    const store = postgresStore({ url: database.url, connections: 2 });
    await store.open({ domain: DOMAIN, clock: systemClock });
    const accounts = postgresAccountStore({ url: database.url, connections: 2 });
    await accounts.open({ clock: systemClock });
    const following = follow(store.events, () => complete);
    const listening = follow(accounts.notifications, () => drained);
    const clients = Array.from({ length: CLIENTS }, (_, i) => runClient(i, { observations, stopped }));

    try {
      for (const [i, outage] of [...OUTAGES, 'nothing'].entries()) {
        const goal = observations.placed.length + BETWEEN;
        while (observations.placed.length < goal && observations.strange.length === 0) await pause(20);
        if (outage === 'restart the database') {
          await database.stop();
          await pause(200);
          await database.start();
        } else if (outage === 'kill a server') {
          // It stays in the list until it is replaced, so that clients meet its absence.
          const place = i % servers.length;
          await servers[place]?.end('SIGKILL');
          servers[place] = await start();
        }
      }
    } finally {
      over = true;
    }
    await Promise.all(clients);
    complete = true;
    expect(observations.strange).toEqual([]);
    // All servers recovered, after a kill or a lost database.
    for (const { url } of servers) expect((await fetch(`${url}/ready`)).status).toBe(200);
    const events = await following;
    // The server that derives notifications has reached the end of the log.
    const feed = `log ${DOMAIN.chainId} ${DOMAIN.settlementContract}`;
    while ((await accounts.notifications.cursor(feed)) !== events.at(-1)?.id) await pause(20);
    drained = true;
    const notifications = await listening;
    await store.close();
    await accounts.close();

    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const rows = async (text: string) => (await client.query({ text, rowMode: 'array' })).rows as unknown[][];
    try {
      const stored = await rows(
        `SELECT '0x' || encode(substr(key, 5) || substr(key, 1, 4), 'hex'), phase = 4 FROM intentbook.orders`,
      );
      const states = new Map(stored.map(([uid, cancelled]) => [uid, cancelled]));
      expect(observations.placed.filter((uid) => !states.has(uid))).toEqual([]);
      expect(observations.cancelled.filter((uid) => states.get(uid) !== true)).toEqual([]);

      // No id was skipped, none appeared before a smaller one, and none appeared twice.
      expect(events.map(({ id }) => id)).toEqual(events.map((_, i) => i + 1));
      // Every cancellation was notified once, in a log with the same properties.
      expect(notifications.map(({ id }) => id)).toEqual(notifications.map((_, i) => i + 1));
      const notified = notifications.map(({ type, body }) => `${type} ${JSON.parse(body).metadata.orderUid}`);
      const cancelled = stored.filter(([, state]) => state).map(([uid]) => `notification ${uid}`);
      expect(notified.sort()).toEqual(cancelled.sort());
      // Each order has one start in the log and at most one end, which is later.
      const odd = await rows(`
      SELECT o.key FROM intentbook.orders o LEFT JOIN intentbook.events e USING (key) GROUP BY o.key, o.phase
      HAVING string_agg(e.type::text, ',' ORDER BY e.ordinal) <> CASE o.phase WHEN 4 THEN '0,1' ELSE '0' END`);
      expect(odd).toEqual([]);
      // In the log, no owner ever exceeded the quota of live orders, and the counters match the orders.
      const most = await rows(`
      SELECT max(n) FROM (SELECT sum(CASE type WHEN 0 THEN 1 ELSE -1 END)
        OVER (PARTITION BY substr(key, 37) ORDER BY ordinal) AS n FROM intentbook.events) running`);
      expect(Number(most[0]?.[0])).toBeLessThanOrEqual(QUOTA);
      expect(Number(most[0]?.[0])).toBeGreaterThan(QUOTA / 2);
      const wrong = await rows(`
      SELECT w.owner FROM intentbook.owners w WHERE w.live_open <> (SELECT count(*) FROM intentbook.orders o
        WHERE o.owner = w.owner AND o.phase < 2)`);
      expect(wrong).toEqual([]);
    } finally {
      await client.end();
    }
    // Without an aborted request, the test would show nothing.
    expect(observations.statuses.get('broken')).toBeGreaterThan(0);
    expect(observations.statuses.get(500)).toBeGreaterThan(0);
    if (LONG)
      process.stdout.write(
        `${JSON.stringify([...observations.statuses])} ${events.length} events, ${notifications.length} notifications\n`,
      );
  },
  LONG ? 900_000 : 120_000,
);
