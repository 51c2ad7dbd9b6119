import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOMAIN } from '../conformance/harness.ts';
import { account, signCancellation, signOrder } from '../support/orders.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { startPostgres } from '../support/postgres-server.ts';
import type { SpawnedServer } from './spawn.ts';
import { spawnServer } from './spawn.ts';

const LONG = process.env['INTENTBOOK_TEST_LONG'] !== undefined;
const SERVERS = 4;
const CLIENTS = 12;
const OWNERS = 10;
const CAP = 25;

/** What befalls the cluster, each time some more orders have been acknowledged. */
const CALAMITIES = LONG
  ? Array.from({ length: 40 }, (_, i) => (i % 8 === 5 ? 'restart the database' : 'kill a server'))
  : ['kill a server', 'restart the database', 'kill a server'];
const BETWEEN = LONG ? 400 : 40;

let database: PostgresServer;
let servers: SpawnedServer[] = [];
const start = () => spawnServer(['--postgres', database.url, '--max-open-orders', String(CAP)]);

beforeAll(async () => {
  // Its own: it is restarted.
  database = await startPostgres();
  await migratePostgres({ url: database.url });
  servers = await Promise.all(Array.from({ length: SERVERS }, start));
});
afterAll(async () => {
  for (const server of servers) await server.end('SIGKILL').catch(() => {});
  await database?.dispose();
});

/** What the clients know for certain, and whatever they should not have seen. */
interface Witnessed {
  readonly placed: string[];
  readonly cancelled: string[];
  readonly capped: string[];
  readonly strange: string[];
  readonly statuses: Map<number | 'broken', number>;
}

/** Asks any server. A request that breaks, or is answered with 429 or 500, may have happened or not. */
async function ask(witnessed: Witnessed, method: string, path: string, body?: unknown) {
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
  witnessed.statuses.set(status, (witnessed.statuses.get(status) ?? 0) + 1);
  const sure = status !== 'broken' && status !== 429 && status !== 500;
  return { status, answer: answer as { errorType?: string }, sure };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** One client: places orders, cancels some, reads what it has been told is there, until it is told to stop. */
async function live(client: number, witnessed: Witnessed, stopped: () => boolean): Promise<void> {
  const mine: { uid: string; owner: number }[] = [];
  for (let n = 0; !stopped(); n++) {
    const owner = (client * 7 + n) % OWNERS;
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const order = await signOrder(account(owner), {
      validTo,
      sellAmount: `${client + 1}${String(n).padStart(9, '0')}`,
    });
    // Two servers at once now and then: one of them inserts it.
    const twice = n % 5 === 0 ? 2 : 1;
    const answers = await Promise.all(
      Array.from({ length: twice }, () => ask(witnessed, 'POST', '/api/v1/orders', order)),
    );
    const created = answers.filter(({ status }) => status === 201);
    if (created.length > 1) witnessed.strange.push(`one order was placed ${created.length} times`);
    for (const { status, answer, sure } of answers) {
      if (status === 201) mine.push({ uid: answer as string, owner });
      else if (answer?.errorType === 'TooManyLimitOrders') witnessed.capped.push(`owner ${owner}`);
      else if (sure && !(answer.errorType === 'DuplicatedOrder' && twice > 1)) {
        witnessed.strange.push(`placing: ${status} ${JSON.stringify(answer)}`);
      }
    }
    for (const { answer } of created) witnessed.placed.push(answer as unknown as string);

    const last = mine.at(-1);
    if (last !== undefined) {
      const read = await ask(witnessed, 'GET', `/api/v1/orders/${last.uid}`);
      if (read.sure && read.status !== 200)
        witnessed.strange.push(`reading: ${read.status} ${JSON.stringify(read.answer)}`);
    }
    if (n % 3 === 2) {
      const first = mine.shift();
      if (first === undefined) continue;
      const orderUids = [first.uid];
      const body = { orderUids, ...(await signCancellation(account(first.owner), { orderUids })) };
      const { status, answer, sure } = await ask(witnessed, 'DELETE', '/api/v1/orders', body);
      if (status === 200) witnessed.cancelled.push(first.uid);
      else if (sure) witnessed.strange.push(`cancelling: ${status} ${JSON.stringify(answer)}`);
    }
  }
}

/** Follows the log as a feed does, through every calamity, and keeps what it was shown. */
async function follow(stopped: () => boolean): Promise<{ ids: number[]; last: number }> {
  const store = postgresStore({ url: database.url, connections: 2 });
  await store.open({ domain: DOMAIN, clock: systemClock });
  const ids: number[] = [];
  let last = 0;
  for (let done = false; !done; ) {
    const ending = stopped();
    try {
      const page = await store.events.after(ids.at(-1) ?? 0, 100);
      ids.push(...page.map(({ id }) => id));
      last = await store.events.last();
      done = ending && ids.at(-1) === last;
    } catch {
      await pause(20); // while the database is away
    }
  }
  await store.close();
  return { ids, last };
}

test(
  `${SERVERS} servers on one database, ${CALAMITIES.length} calamities: nothing acknowledged is lost`,
  async () => {
    const witnessed: Witnessed = { placed: [], cancelled: [], capped: [], strange: [], statuses: new Map() };
    let over = false;
    const stopped = () => over;
    let silent = false;
    const following = follow(() => silent);
    const clients = Array.from({ length: CLIENTS }, (_, i) => live(i, witnessed, stopped));

    try {
      for (const [i, calamity] of [...CALAMITIES, 'nothing'].entries()) {
        const goal = witnessed.placed.length + BETWEEN;
        while (witnessed.placed.length < goal && witnessed.strange.length === 0) await pause(20);
        if (calamity === 'restart the database') {
          await database.stop();
          await pause(200);
          await database.start();
        } else if (calamity === 'kill a server') {
          // It stays in the list until there is another, so that clients run into its absence.
          const place = i % servers.length;
          await servers[place]?.end('SIGKILL');
          servers[place] = await start();
        }
      }
    } finally {
      over = true;
    }
    await Promise.all(clients);
    silent = true;
    expect(witnessed.strange).toEqual([]);
    // All of them came back, the killed and those that only lost their database.
    for (const { url } of servers) expect((await fetch(`${url}/ready`)).status).toBe(200);
    const { ids, last } = await following;

    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const rows = async (text: string) => (await client.query({ text, rowMode: 'array' })).rows as unknown[][];
    try {
      const stored = await rows(`SELECT '0x' || encode(uid, 'hex'), state = 2 FROM intentbook.orders`);
      const states = new Map(stored.map(([uid, cancelled]) => [uid, cancelled]));
      expect(witnessed.placed.filter((uid) => !states.has(uid))).toEqual([]);
      expect(witnessed.cancelled.filter((uid) => states.get(uid) !== true)).toEqual([]);

      // No id was skipped, none was shown before a smaller one, none was shown twice.
      expect(ids).toEqual(Array.from({ length: last }, (_, i) => i + 1));
      // Each order has one beginning in the log and at most one end, the end being the later.
      const odd = await rows(`
      SELECT o.uid FROM intentbook.orders o LEFT JOIN intentbook.events e USING (uid) GROUP BY o.uid, o.state
      HAVING string_agg(e.type, ',' ORDER BY e.id) <> CASE o.state WHEN 2 THEN 'created,cancelled' ELSE 'created' END`);
      expect(odd).toEqual([]);
      // By the log, no owner had more live orders at any moment than the cap allows, and the counters are what is there.
      const most = await rows(`
      SELECT max(n) FROM (SELECT sum(CASE type WHEN 'created' THEN 1 ELSE -1 END)
        OVER (PARTITION BY owner ORDER BY id) AS n FROM intentbook.events) running`);
      expect(Number(most[0]?.[0])).toBeLessThanOrEqual(CAP);
      expect(Number(most[0]?.[0])).toBeGreaterThan(CAP / 2);
      const wrong = await rows(`
      SELECT w.owner FROM intentbook.owners w WHERE w.live_open <> (SELECT count(*) FROM intentbook.orders o
        WHERE o.owner = w.owner AND o.live)`);
      expect(wrong).toEqual([]);
    } finally {
      await client.end();
    }
    // If no request had ever been cut short, nothing would have been shown.
    expect(witnessed.statuses.get('broken')).toBeGreaterThan(0);
    expect(witnessed.statuses.get(500)).toBeGreaterThan(0);
    if (LONG) process.stdout.write(`${JSON.stringify([...witnessed.statuses])} ${last} events\n`);
  },
  LONG ? 900_000 : 120_000,
);
