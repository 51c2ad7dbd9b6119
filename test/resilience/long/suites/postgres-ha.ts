import { setTimeout as sleep } from 'node:timers/promises';
import { migratePostgres } from 'intentbook/postgres';
import pg from 'pg';
import type { SpawnedServer } from '../../../integration/server/spawn.ts';
import { spawnServer } from '../../../integration/server/spawn.ts';
import { account, signCancellation, signOrder } from '../../../support/orders.ts';
import type { HaCluster, HaNode } from '../../../support/patroni.ts';
import { findObstacle, startPatroni } from '../../../support/patroni.ts';
import type { LongShare, LongSuite } from '../suite.ts';

/**
 * Two servers on a cluster of PostgreSQL with Patroni, etcd and HAProxy, synchronous and asynchronous. Clients submit
 * and cancel during faults of the primary. Each response, stream and notification is then compared with the tables.
 *
 * Needs the packages `patroni`, `etcd-server`, `haproxy` and `postgresql` of Debian, and network namespaces.
 */
export const suite: LongSuite = {
  description: 'servers on a PostgreSQL cluster of Patroni keep their promises during faults of the primary',
  async run(share) {
    const obstacle = findObstacle();
    if (obstacle !== undefined) return share.note('skipped', obstacle);
    const end = Date.now() + share.milliseconds;
    do {
      for (const synchronous of [true, false]) await playOnce(share, synchronous);
    } while (Date.now() < end);
  },
};

const CLIENTS = 8;

/** Time that a frozen or disconnected node stays so, which exceeds the lifetime of its leader key, in milliseconds. */
const ABSENCE = 30_000;
/** Time for which the disk of the primary is full, in milliseconds. */
const FULL_TIME = 10_000;
/** Maximum time from which a new primary accepts writes until both servers store an order, in milliseconds. */
const MAX_RECOVERY = 5000;

interface Response {
  readonly uid: string;
  readonly buyAmount: string;
  readonly claim: 'stored' | 'not stored' | 'unknown';
  readonly server: number;
  readonly endedAt: number;
  /** Whether a response confirmed a cancellation. */
  cancelled: boolean;
}

const FAULTS: Readonly<Record<string, (cluster: HaCluster, primary: HaNode) => Promise<void>>> = {
  async kill(_, primary) {
    primary.kill();
  },
  async switchover(cluster) {
    await cluster.switchOver();
  },
  async freeze(_, primary) {
    primary.freeze(true);
    void sleep(ABSENCE).then(() => primary.freeze(false));
  },
  async disk(_, primary) {
    primary.fill(true);
    await sleep(FULL_TIME);
    primary.fill(false);
  },
  async partition(_, primary) {
    primary.cut(true);
    void sleep(ABSENCE).then(() => primary.cut(false));
  },
};

async function playOnce(share: LongShare, synchronous: boolean): Promise<void> {
  const stack: (() => Promise<unknown>)[] = [];
  try {
    const cluster = await startPatroni(synchronous);
    stack.push(() => cluster.dispose());
    const { url } = cluster;
    await migratePostgres({ url });
    await migratePostgres({ url, of: 'accounts' });
    const servers: SpawnedServer[] = [];
    for (let i = 0; i < 2; i++) {
      const server = await spawnServer(['--postgres', url, '--accounts', url, '--max-open-orders', '1000000']);
      stack.push(() => server.end('SIGKILL'));
      servers.push(server);
    }
    const followers = servers.map(({ url: base }) => follow(base));
    const load = submitUntilStopped(servers);
    const mode = synchronous ? 'synchronous' : 'asynchronous';
    for (const [name, fault] of Object.entries(FAULTS)) {
      await waitFor('all standbys', 120_000, () => cluster.isComplete());
      await sleep(2000); // the load reaches a new primary
      const primary = await cluster.findPrimary();
      if (primary === undefined) throw new Error(`${mode} ${name}: there is no primary`);
      const started = Date.now();
      await fault(cluster, primary);
      const { accepted, served } = await recover(cluster, primary, load.responses, started, name);
      share.count('faults');
      const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
      share.note(
        `${mode} ${name}`,
        `primary after ${seconds(accepted - started)}, servers ${seconds(served - accepted)} later`,
      );
      if (served - accepted > MAX_RECOVERY)
        throw new Error(`${mode} ${name}: no order was stored for ${served - accepted} ms`);
      // A node that returns must not undo what the new primary has acknowledged.
      await sleep(
        Math.max(0, started + ABSENCE + 10_000 - Date.now()) * (name === 'freeze' || name === 'partition' ? 1 : 0),
      );
    }
    await load.stop();
    await compare(share, { mode, synchronous, url, servers, responses: load.responses, followers });
    for (const follower of followers) follower.end();
  } finally {
    for (const close of stack.reverse()) await close().catch(() => {});
  }
}

/** Waits for a primary that accepts writes, and for both servers. @returns the times at which they did. */
async function recover(
  cluster: HaCluster,
  before: HaNode,
  responses: readonly Response[],
  since: number,
  fault: string,
): Promise<{ readonly accepted: number; readonly served: number }> {
  // A killed server can be started again on the same node, and one with a full disk may go on.
  const isSame = fault === 'kill' || fault === 'disk';
  const isNew = (node: HaNode | undefined) => node !== undefined && (isSame || node.name !== before.name);
  let accepted = 0;
  await waitFor('a primary', 90_000, async () => {
    const primary = await cluster.findPrimary();
    if (!isNew(primary) || !(await acceptsWrites(primary?.url ?? ''))) return false;
    accepted = Date.now();
    return accepted > since;
  });
  let served = 0;
  await waitFor('the servers', 60_000, async () => {
    const stored = responses.filter(({ claim, endedAt }) => claim === 'stored' && endedAt > accepted);
    served = Date.now();
    return new Set(stored.map(({ server }) => server)).size === 2;
  });
  return { accepted, served };
}

async function acceptsWrites(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000, query_timeout: 1000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query('SELECT NOT pg_is_in_recovery() AS is FROM intentbook.domain FOR UPDATE');
    return rows[0]?.is === true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function waitFor(what: string, limit: number, done: () => Promise<boolean>): Promise<void> {
  const since = Date.now();
  while (!(await done())) {
    if (Date.now() - since > limit) throw new Error(`${what}: not within ${limit / 1000} s`);
    await sleep(100);
  }
}

/** Submits orders, and cancels every third one that is stored. */
function submitUntilStopped(servers: readonly SpawnedServer[]) {
  const responses: Response[] = [];
  let stopped = false;
  let next = 0;
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const signer = account(client);
    const server = client % servers.length;
    const url = `${servers[server]?.url}/api/v1/orders`;
    while (!stopped) {
      const buyAmount = String(1_000_000 + next++);
      const order = await signOrder(signer, { validTo: Math.floor(Date.now() / 1000) + 7200, buyAmount });
      const { claim, uid } = await send('POST', url, order);
      const response: Response = { uid, buyAmount, claim, server, endedAt: Date.now(), cancelled: false };
      responses.push(response);
      if (claim !== 'stored') await sleep(100);
      else if (next % 3 === 0) {
        const orderUids = [uid];
        const body = { orderUids, ...(await signCancellation(signer, { orderUids })) };
        response.cancelled = (await send('DELETE', url, body)).claim === 'stored';
      }
      await sleep(50);
    }
  });
  return {
    responses,
    async stop() {
      stopped = true;
      await Promise.all(clients);
    },
  };
}

async function send(method: 'POST' | 'DELETE', url: string, body: object) {
  try {
    const headers = { 'content-type': 'application/json' };
    const request = { method, headers, body: JSON.stringify(body), signal: AbortSignal.timeout(30_000) };
    const json = (await (await fetch(url, request)).json()) as string | { errorType: string };
    if (typeof json === 'string') return { claim: 'stored', uid: json } as const;
    return { claim: json.errorType === 'OutcomeUnknown' ? 'unknown' : 'not stored', uid: '' } as const;
  } catch {
    return { claim: 'unknown', uid: '' } as const;
  }
}

/** The ids that a stream has skipped. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

/** Follows the stream of a server, and resumes it after its last id. */
function follow(base: string) {
  const seen = new Set<string>();
  const ending = new AbortController();
  const gaps: Gap[] = [];
  let last: string | undefined;
  const handle = (block: string) => {
    last = /^id: (.+)$/m.exec(block)?.[1] ?? last;
    const gap = /^event: gap\ndata: (.+)$/m.exec(block)?.[1];
    if (gap !== undefined) gaps.push(JSON.parse(gap) as Gap);
    const uid = /"uid":"(0x[0-9a-f]+)"/.exec(block)?.[1];
    if (uid !== undefined) seen.add(uid);
  };
  void (async () => {
    while (!ending.signal.aborted) {
      try {
        const headers: Record<string, string> = last === undefined ? {} : { 'last-event-id': last };
        const { body } = await fetch(`${base}/api/v1/orders/stream`, { headers, signal: ending.signal });
        let text = '';
        const decoder = new TextDecoder();
        for await (const chunk of body ?? []) {
          const blocks = (text + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
          text = blocks.pop() ?? '';
          for (const block of blocks) handle(block);
        }
      } catch {
        // The server is connecting to a new primary.
      }
      await sleep(200, undefined, { signal: ending.signal }).catch(() => {});
    }
  })();
  return { seen, gaps, end: () => ending.abort() };
}

interface Run {
  readonly mode: string;
  readonly synchronous: boolean;
  readonly url: string;
  readonly servers: readonly SpawnedServer[];
  readonly responses: readonly Response[];
  readonly followers: readonly ReturnType<typeof follow>[];
}

/** Compares each response, stream and notification with the tables. */
async function compare(
  share: LongShare,
  { mode, synchronous, url, servers, responses, followers }: Run,
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ uid: string; id: string; cancelled: boolean }>(
    "SELECT '0x' || encode(substr(key, 5) || substr(key, 1, 4), 'hex') AS uid, body::json ->> 'buyAmount' AS id, " +
      'cancelled_off_chain AS cancelled FROM intentbook.orders',
  );
  const entries = await client.query<{ uid: string; id: string }>(
    "SELECT '0x' || encode(substr(key, 5) || substr(key, 1, 4), 'hex') AS uid, " +
      'last - size + row_number() OVER (PARTITION BY xid ORDER BY ordinal) AS id ' +
      'FROM intentbook.events JOIN intentbook.log USING (xid)',
  );
  await client.end();
  const stored = new Map(rows.map((row) => [row.id, row]));
  const found = {
    lost: responses.filter(({ claim, buyAmount }) => claim === 'stored' && !stored.has(buyAmount)).length,
    doubled: rows.length - stored.size,
    'falsely denied': responses.filter(({ claim, buyAmount }) => claim === 'not stored' && stored.has(buyAmount))
      .length,
    'cancellations undone': responses.filter(
      ({ cancelled, buyAmount }) => cancelled && stored.get(buyAmount)?.cancelled === false,
    ).length,
  };
  const cancelled = rows.filter((row) => row.cancelled).map(({ uid }) => uid);
  const expected = new Set(cancelled);
  await waitFor('the notifications', 30_000, async () => {
    const notified = await readCancellations(servers[0]?.url ?? '');
    if (new Set(notified).size < notified.length) throw new Error(`${mode}: a cancellation was notified twice`);
    return notified.filter((uid) => expected.has(uid)).length === expected.size;
  });
  await sleep(3000); // the streams receive the last entries
  const ids = new Map<string, number[]>();
  for (const { uid, id } of entries.rows) ids.set(uid, [...(ids.get(uid) ?? []), Number(id)]);
  const missing = followers.map(({ seen, gaps }) => {
    const orders = rows.filter(({ uid }) => !seen.has(uid));
    const isSkipped = (id: number) => gaps.some(({ from, to }) => from <= id && id <= to);
    const untold = orders.filter(({ uid }) => !(ids.get(uid) ?? [Number.NaN]).every(isSkipped));
    return { count: orders.length, gaps, outside: untold.map(({ uid }) => `${uid}: ${ids.get(uid)}`) };
  });
  for (const { outside, gaps } of missing)
    if (outside.length > 0)
      throw new Error(`${mode}: ${outside.length} orders outside ${JSON.stringify(gaps)}: ${outside}`);
  share.count('responses', responses.length);
  share.count('acknowledged', responses.filter(({ claim }) => claim === 'stored').length);
  share.count('unknown', responses.filter(({ claim }) => claim === 'unknown').length);
  for (const [name, count] of Object.entries(found)) share.count(`${mode}: ${name}`, count);
  share.note(
    `${mode} streams`,
    missing.map(({ count, gaps }) => `${count} orders within ${gaps.length} gaps`).join('; '),
  );
  share.note(`${mode} notifications`, `${expected.size} of ${expected.size}`);
  // An asynchronous standby can lack what its primary has acknowledged.
  const { lost, 'cancellations undone': undone, ...never } = found;
  const findings = Object.entries(synchronous ? found : never).filter(([, count]) => count > 0);
  if (findings.length > 0)
    throw new Error(`${mode}: ${findings.map(([name, count]) => `${count} ${name}`).join(', ')} (${lost}, ${undone})`);
}

/** Returns the orders of all notifications of cancellations. */
async function readCancellations(base: string): Promise<string[]> {
  const uids: string[] = [];
  for (let client = 0; client < CLIENTS; client++) {
    let url: string | undefined = `${base}/accounts/${account(client).address}/notifications?limit=100`;
    while (url !== undefined) {
      const response: globalThis.Response = await fetch(url);
      if (!response.ok) return [];
      const page = (await response.json()) as { type: string; metadata: { orderUid?: string } }[];
      uids.push(
        ...page.filter(({ type }) => type === 'order_cancelled').map(({ metadata }) => metadata.orderUid ?? ''),
      );
      const next = /<([^>]+)>; rel="?next/.exec(response.headers.get('link') ?? '')?.[1];
      url = next === undefined ? undefined : new URL(next, url).href;
    }
  }
  return uids;
}
