import { setTimeout as sleep } from 'node:timers/promises';
import { migratePostgres } from 'intentbook/postgres';
import pg from 'pg';
import type { SpawnedServer } from '../../../integration/server/spawn.ts';
import { spawnServer } from '../../../integration/server/spawn.ts';
import { account, signOrder } from '../../../support/orders.ts';
import type { FrontProgram } from '../../../support/poolers.ts';
import { findMissingPrograms, startHaproxy, startPgBouncer } from '../../../support/poolers.ts';
import type { PostgresServer } from '../../../support/postgres-server.ts';
import { startPostgres, startStandby } from '../../../support/postgres-server.ts';
import type { LongShare, LongSuite } from '../suite.ts';

/**
 * Servers in front of a primary with a streaming standby: two by HAProxy, one by PgBouncer in transaction mode. Clients
 * submit orders during faults. Afterwards the claim of each response is compared with the table.
 *
 * Needs the packages `pgbouncer` and `haproxy` of Debian.
 */
export const suite: LongSuite = {
  description: 'servers on a replicated PostgreSQL with a pooler and a balancer keep their promises during faults',
  async run(share) {
    const missing = findMissingPrograms('pgbouncer', 'haproxy');
    if (missing.length > 0) {
      share.note('skipped', `${missing.join(' and ')} not installed`);
      return;
    }
    const end = Date.now() + share.milliseconds;
    do await playOnce(share);
    while (Date.now() < end);
  },
};

/** Connections per server, and servers. */
const CONNECTIONS = 10;
const CLIENTS = 12;
/**
 * Limits of the sessions behind the pooler, which docs/deploy/postgresql.md recommends. Without them, the store cancels
 * each statement that waits for long.
 */
const LIMITS = 'SET lock_timeout = 4000; SET statement_timeout = 5000; SET idle_in_transaction_session_timeout = 4000';

/** Time from which locked tables and absent standbys last 200 seconds each, in milliseconds. */
const LONG_SHARE = 400_000;
const LONG_FAULT = 200_000;
/** Maximum duration of a response, in milliseconds, with a second for the machine. */
const MAX_WAIT = 11_000;

const CLAIMS = ['stored', 'not stored', 'unknown'] as const;

interface Response {
  /** Buy amount of the order, which is unique. */
  readonly id: string;
  readonly claim: (typeof CLAIMS)[number];
  readonly server: number;
  readonly endedAt: number;
  /** Duration in milliseconds; 0 if the server is frozen. */
  readonly took: number;
}

interface Topology {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  readonly servers: readonly SpawnedServer[];
  readonly admin: pg.Client;
  readonly responses: Response[];
}

/** The topology, and whether its faults last long. */
type Place = Topology & { readonly isLong: boolean };

async function playOnce(share: LongShare): Promise<void> {
  const stack: (() => Promise<unknown>)[] = [];
  try {
    const topology = { ...(await build(stack)), isLong: share.milliseconds >= LONG_SHARE };
    const load = submitUntilStopped(topology);
    for (const [name, fault] of Object.entries(FAULTS)) {
      const started = Date.now();
      await fault(topology);
      const recovery = await assertRecovered(name, topology);
      const [all, ended] = [Date.now() - started, recovery].map((ms) => `${(ms / 1000).toFixed(1)} s`);
      await assertClaims(name, topology);
      const during = topology.responses.filter(({ endedAt }) => endedAt > started);
      const slowest = Math.max(...during.map(({ took }) => took));
      const claims = CLAIMS.map((claim) => `${during.filter((response) => response.claim === claim).length} ${claim}`);
      share.count('faults');
      share.note(name, `${all}, of which ${ended} are recovery; ${claims.join(', ')}; slowest response ${slowest} ms`);
    }
    const { slowest, connections } = await load.stop();
    await assertClaims('the end', topology);
    if (slowest > MAX_WAIT) throw new Error(`a response took ${slowest} ms`);
    const pools = CONNECTIONS * topology.servers.length;
    if (connections > pools) throw new Error(`there were ${connections} connections of ${pools}`);
    for (const claim of CLAIMS) {
      share.count(`responses "${claim}"`, topology.responses.filter((response) => response.claim === claim).length);
    }
    share.note('slowest response', `${slowest} ms`);
    share.note('connections', `${connections} of ${pools}`);
    await assertFailover(topology, share);
  } finally {
    for (const close of stack.reverse()) await close().catch(() => {});
  }
}

async function build(stack: (() => Promise<unknown>)[]): Promise<Topology> {
  const primary = await startPostgres({ max_connections: '100' });
  stack.push(() => primary.dispose());
  await migratePostgres({ url: primary.url });
  const standby = await startStandby(primary);
  stack.push(() => standby.dispose());
  const front = async (start: () => Promise<FrontProgram>) => {
    const program = await start();
    stack.push(() => program.stop());
    return program;
  };
  const balancer = await front(() => startHaproxy([primary.port, standby.port]));
  const pooler = await front(() => startPgBouncer(Number(new URL(balancer.url).port), 'transaction', LIMITS));
  const servers: SpawnedServer[] = [];
  for (const url of [balancer.url, balancer.url, pooler.url]) {
    const server = await spawnServer(['--chain', 'sepolia', '--postgres', url, '--max-open-orders', '1000000']);
    stack.push(() => server.end('SIGKILL'));
    servers.push(server);
  }
  const admin = new pg.Client({ connectionString: primary.url, application_name: 'admin' });
  admin.on('error', () => {});
  await admin.connect();
  stack.push(() => admin.end());
  // The administration does not wait for the standby that a fault removes.
  await admin.query("SET synchronous_commit = 'local'");
  return { primary, standby, servers, admin, responses: [] };
}

/** Submits orders of many owners to all servers. */
function submitUntilStopped({ servers, responses, admin }: Topology) {
  let stopped = false;
  let next = 0;
  let slowest = 0;
  let connections = 0;
  const sampling = (async () => {
    while (!stopped) {
      const { rows } = await admin
        .query(
          "SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'admin'",
        )
        .catch(() => ({ rows: [] as { n: number }[] }));
      connections = Math.max(connections, rows[0]?.n ?? 0);
      await sleep(200);
    }
  })();
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    while (!stopped) {
      const n = next++;
      const order = await signOrder(account(client * 100 + (n % 7)), {
        validTo: Math.floor(Date.now() / 1000) + 3600,
        buyAmount: String(1_000_000 + n),
      });
      const started = Date.now();
      const server = client % servers.length;
      const response = await post(`${servers[server]?.url}/api/v1/orders`, order);
      const endedAt = Date.now();
      const took = response.frozen ? 0 : endedAt - started;
      slowest = Math.max(slowest, took);
      responses.push({ id: order.buyAmount, claim: response.claim, server, endedAt, took });
      if (response.claim !== 'stored') await sleep(100);
    }
  });
  return {
    async stop() {
      stopped = true;
      await Promise.all([...clients, sampling]);
      return { slowest, connections };
    },
  };
}

async function post(url: string, body: object) {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const json = (await answer.json()) as string | { errorType: string };
    if (typeof json === 'string') return { claim: 'stored', frozen: false } as const;
    if (!answer.headers.has('retry-after'))
      throw new TypeError(`unexpected response: ${json.errorType} without Retry-After`);
    if (json.errorType === 'OutcomeUnknown') return { claim: 'unknown', frozen: false } as const;
    if (json.errorType !== 'InternalServerError') throw new TypeError(`unexpected response: ${JSON.stringify(json)}`);
    return { claim: 'not stored', frozen: false } as const;
  } catch (failure) {
    if (failure instanceof TypeError && failure.message.startsWith('unexpected')) throw failure;
    return { claim: 'unknown', frozen: true } as const;
  }
}

/** Each fault begins, lasts and ends; the load continues. */
const FAULTS: Readonly<Record<string, (topology: Place) => Promise<void>>> = {
  async 'frozen server'({ servers, responses }) {
    const [frozen] = servers;
    frozen?.process.kill('SIGSTOP');
    await sleep(8000);
    const since = Date.now() - 3000;
    const others = responses.filter(
      ({ claim, server, endedAt }) => claim === 'stored' && server > 0 && endedAt > since,
    );
    frozen?.process.kill('SIGCONT');
    if (others.length === 0) throw new Error('the other servers stored nothing 5 s after one was frozen');
  },

  async 'locked owner'({ primary, responses }) {
    const client = new pg.Client({ connectionString: primary.url, application_name: 'admin' });
    await client.connect();
    const owner = account(0).address.slice(2);
    await client.query('BEGIN');
    await client.query(`SELECT intentbook.lock_owners(ARRAY['\\x${owner}'::bytea], false)`);
    await sleep(8000);
    const since = Date.now() - 3000;
    const stored = responses.filter(({ claim, endedAt }) => claim === 'stored' && endedAt > since);
    await client.query('ROLLBACK');
    await client.end();
    if (stored.length === 0) throw new Error('one locked owner stopped all writes');
  },

  async 'terminated sessions'({ admin }) {
    for (let i = 0; i < 50; i++) {
      await admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name <> 'admin' AND backend_type = 'client backend'",
      );
      await sleep(40);
    }
  },

  async 'locked table'({ primary, isLong }) {
    const client = new pg.Client({ connectionString: primary.url, application_name: 'admin' });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE intentbook.orders IN ACCESS EXCLUSIVE MODE');
    await sleep(isLong ? LONG_FAULT : 20_000);
    await client.query('ROLLBACK');
    await client.end();
  },

  async 'synchronous standby away'({ admin, isLong }) {
    await admin.query("ALTER SYSTEM SET synchronous_standby_names = 'ghost'");
    await admin.query('SELECT pg_reload_conf()');
    await sleep(isLong ? LONG_FAULT : 15_000);
    await admin.query('ALTER SYSTEM RESET synchronous_standby_names');
    await admin.query('SELECT pg_reload_conf()');
  },
};

/** Waits until every server stores an order. @returns the time that this takes, in milliseconds. */
async function assertRecovered(fault: string, { servers, responses }: Topology): Promise<number> {
  const since = Date.now();
  for (;;) {
    const stored = new Set(
      responses.filter(({ claim, endedAt }) => claim === 'stored' && endedAt > since).map(({ server }) => server),
    );
    if (stored.size === servers.length) return Date.now() - since;
    for (const { process } of servers) if (process.exitCode !== null) throw new Error(`${fault}: a server has ended`);
    if (Date.now() - since > 10_000) throw new Error(`${fault}: ${stored.size} of ${servers.length} servers recovered`);
    await sleep(100);
  }
}

async function readStored({ url }: PostgresServer): Promise<ReadonlySet<string>> {
  const client = new pg.Client({ connectionString: url, application_name: 'admin' });
  await client.connect();
  const { rows } = await client.query<{ id: string }>("SELECT body::json ->> 'buyAmount' AS id FROM intentbook.orders");
  await client.end();
  return new Set(rows.map(({ id }) => id));
}

/** Compares each response with the table of the primary. */
async function assertClaims(time: string, { primary, responses }: Topology): Promise<void> {
  const received = [...responses]; // before the read, since the load continues
  const stored = await readStored(primary);
  const lost = received.filter(({ id, claim }) => claim === 'stored' && !stored.has(id));
  if (lost.length > 0) throw new Error(`${time}: ${lost.length} acknowledged orders are not stored`);
  const denied = received.filter(({ id, claim }) => claim === 'not stored' && stored.has(id));
  if (denied.length > 0) throw new Error(`${time}: ${denied.length} orders are stored, although a response denied it`);
}

/** Stops the primary after its log was streamed, and promotes the standby: nothing acknowledged is lost. */
async function assertFailover({ primary, standby, servers, responses, admin }: Topology, share: LongShare) {
  const { rows } = await admin.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn');
  const client = new pg.Client({ connectionString: standby.url });
  await client.connect();
  const replayed = `SELECT pg_last_wal_replay_lsn() >= '${rows[0]?.lsn}'::pg_lsn AS replayed`;
  while ((await client.query<{ replayed: boolean }>(replayed)).rows[0]?.replayed !== true) await sleep(50);
  const started = Date.now();
  await primary.stop();
  await client.query('SELECT pg_promote()');
  await client.end();
  for (const [i, { url }] of servers.entries()) {
    for (;;) {
      const order = await signOrder(account(9000 + i), {
        validTo: Math.floor(Date.now() / 1000) + 3600,
        buyAmount: String(Date.now()),
      });
      if ((await post(`${url}/api/v1/orders`, order)).claim === 'stored') break;
      if (Date.now() - started > 30_000) throw new Error(`server ${i} did not recover from the failover`);
      await sleep(100);
    }
  }
  share.note('failover', `${((Date.now() - started) / 1000).toFixed(1)} s`);
  const stored = await readStored(standby);
  const lost = responses.filter(({ id, claim }) => claim === 'stored' && !stored.has(id));
  if (lost.length > 0) throw new Error(`${lost.length} streamed orders were lost in the failover`);
}
