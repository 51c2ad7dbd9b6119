import { setTimeout as sleep } from 'node:timers/promises';
import { migratePostgres } from 'intentbook/postgres';
import pg from 'pg';
import type { SpawnedServer } from '../../integration/server/spawn.ts';
import { spawnServer } from '../../integration/server/spawn.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { QUOTA } from './owner.ts';

/** Servers on one PostgreSQL: the first is connected directly, each other one through its own proxy. */
export interface Cluster extends AsyncDisposable {
  /** The address of a server. It changes when the server is killed. */
  urlOf(server: number): string;
  readonly size: number;
  /** Lets one fault happen, and waits until it is over. @returns its name. */
  disturb(random: () => number): Promise<string>;
}

const SERVERS = 3;

/** Starts the cluster. */
export async function startCluster(): Promise<Cluster> {
  const stack: (() => Promise<unknown>)[] = [];
  const dispose = async () => {
    for (const close of stack.reverse()) await close().catch(() => {});
  };
  try {
    const postgres = await startPostgres({ max_connections: '60' });
    stack.push(() => postgres.dispose());
    await migratePostgres({ url: postgres.url });
    const proxies: FaultProxy[] = [];
    for (let i = 1; i < SERVERS; i++) {
      const proxy = await startFaultProxy(postgres.port);
      stack.push(() => proxy.close());
      proxies.push(proxy);
    }
    const ports = [postgres.port, ...proxies.map(({ port }) => port)];
    const start = (port: number) => {
      const url = postgres.url.replace(`:${postgres.port}/`, `:${port}/`);
      return spawnServer(['--chain', 'sepolia', '--max-open-orders', String(QUOTA), '--postgres', url]);
    };
    const servers = await Promise.all(ports.map(start));
    stack.push(() => Promise.all(servers.map((server) => server.end('SIGKILL'))));
    const admin = await connectAdmin(postgres);
    stack.push(() => admin.end());
    return {
      size: SERVERS,
      urlOf: (server) => (servers[server] as SpawnedServer).url, // an index below `size`
      disturb: createFaults({ servers, proxies, admin, restart: (i) => start(ports[i] ?? 0) }),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (failure) {
    await dispose();
    throw failure;
  }
}

async function connectAdmin({ url }: PostgresServer): Promise<pg.Client> {
  const admin = new pg.Client({ connectionString: url, application_name: 'admin' });
  admin.on('error', () => {});
  await admin.connect();
  return admin;
}

interface Parts {
  readonly servers: SpawnedServer[];
  readonly proxies: readonly FaultProxy[];
  readonly admin: pg.Client;
  readonly restart: (server: number) => Promise<SpawnedServer>;
}

const SESSIONS =
  "SELECT pid FROM pg_stat_activity WHERE application_name <> 'admin' AND backend_type = 'client backend'";

function createFaults({ servers, proxies, admin, restart }: Parts): Cluster['disturb'] {
  const faults: Readonly<Record<string, (random: () => number) => Promise<void>>> = {
    async 'stopped server'(random) {
      const { process: child } = pick(random, servers);
      child.kill('SIGSTOP');
      await sleep(50 + random() * 400);
      child.kill('SIGCONT');
    },
    async 'stopped session'(random) {
      const { rows } = await admin.query<{ pid: number }>(SESSIONS);
      if (rows.length === 0) return;
      const { pid } = pick(random, rows);
      if (!signal(pid, 'SIGSTOP')) return;
      await sleep(50 + random() * 400);
      signal(pid, 'SIGCONT');
    },
    async 'terminated sessions'() {
      await admin.query(SESSIONS.replace('SELECT pid', 'SELECT pg_terminate_backend(pid)'));
    },
    async 'cut connections'(random) {
      for (let i = 0; i < 3; i++) {
        pick(random, proxies).cut();
        await sleep(random() * 60);
      }
    },
    async 'delayed connections'(random) {
      const proxy = pick(random, proxies);
      const [delay, split] = [proxy.delay, proxy.split];
      proxy.delay = () => random() * 25;
      if (random() < 0.5) proxy.split = (size) => 1 + Math.floor(random() * size);
      await sleep(100 + random() * 500);
      // A cut after half of a chunk ends a commit at an unknown place.
      if (random() < 0.5) proxy.cut();
      Object.assign(proxy, { delay, split });
    },
  };
  const names = Object.keys(faults);
  let done = 0;

  return async (random) => {
    // Killing a server takes longer than all other faults.
    if (++done % 40 === 0) {
      const index = Math.floor(random() * servers.length);
      await servers[index]?.end('SIGKILL');
      servers[index] = await restart(index);
      return 'killed server';
    }
    const name = pick(random, names);
    await faults[name]?.(random);
    return name;
  };
}

/** Sends a signal to a session of the database. @returns false if it has ended. */
function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function pick<T>(random: () => number, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T; // the list is not empty
}
