import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, unprivileged } from './postgres-server.ts';

/** The addresses of the bridge, on which etcd and the balancer run, and of the nodes, each in a network namespace. */
const NETWORK = { bridge: 'intentbook-ha', gateway: '10.77.31.1', prefix: '10.77.31.1' } as const;

const PROGRAMS = ['patroni', 'etcd', 'haproxy', 'ip'] as const;

const NODES = [1, 2, 3];

/** Size of the disk of a node, in memory. */
const DISK_SIZE = '300m';

/** A node: a server of PostgreSQL with Patroni, in a network namespace. */
export interface HaNode {
  readonly name: string;
  readonly url: string;
  /** Ends the server of PostgreSQL, which Patroni starts again. */
  kill(): void;
  /** Stops all processes of the node, or lets them continue. */
  freeze(frozen: boolean): void;
  /** Removes the node from the network, or connects it again. */
  cut(isCut: boolean): void;
  /** Fills the disk of the node, or frees it. */
  fill(isFull: boolean): void;
}

/** A cluster with a balancer, which leads to the primary. */
export interface HaCluster {
  readonly url: string;
  readonly nodes: readonly HaNode[];
  /** Returns the node that accepts writes, according to Patroni. */
  findPrimary(): Promise<HaNode | undefined>;
  /** Returns whether all nodes replicate, and one can take over. */
  isComplete(): Promise<boolean>;
  /** Makes a standby the primary. */
  switchOver(): Promise<void>;
  dispose(): Promise<void>;
}

/** Returns why no cluster can be built on this machine. */
export function findObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'network namespaces need the user root';
  const missing = PROGRAMS.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
  if (missing.length > 0)
    return `${missing.join(', ')} not installed (packages patroni, etcd-server, haproxy, iproute2)`;
  if (findServer() === undefined) return 'no PostgreSQL of Debian is installed';
  const test = spawnSync('ip', ['netns', 'add', `${NETWORK.bridge}-0`]);
  spawnSync('ip', ['netns', 'del', `${NETWORK.bridge}-0`]);
  return test.status === 0 ? undefined : 'network namespaces are not permitted here';
}

const findServer = () =>
  [18, 17, 16, 15, 14].map((version) => `/usr/lib/postgresql/${version}/bin`).find((path) => existsSync(path));

const ip = (...args: string[]) => void execFileSync('ip', args, { stdio: 'pipe' });
const namespaceOf = (n: number) => `${NETWORK.bridge}-${n}`;
const addressOf = (n: number) => `${NETWORK.prefix}${n}`;

function removeNetwork(): void {
  // A namespace lasts until its last process has ended, and so would its pair of devices.
  for (const n of NODES) spawnSync('ip', ['link', 'del', `ibha${n}`]);
  for (const n of NODES) spawnSync('ip', ['netns', 'del', namespaceOf(n)]);
  spawnSync('ip', ['link', 'del', NETWORK.bridge]);
}

function createNetwork(): void {
  removeNetwork();
  ip('link', 'add', NETWORK.bridge, 'type', 'bridge');
  ip('addr', 'add', `${NETWORK.gateway}/24`, 'dev', NETWORK.bridge);
  ip('link', 'set', NETWORK.bridge, 'up');
  for (const n of NODES) {
    const name = namespaceOf(n);
    ip('netns', 'add', name);
    ip('link', 'add', `ibha${n}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    ip('link', 'set', `ibha${n}`, 'master', NETWORK.bridge);
    ip('link', 'set', `ibha${n}`, 'up');
    ip('-n', name, 'addr', 'add', `${addressOf(n)}/24`, 'dev', 'eth0');
    ip('-n', name, 'link', 'set', 'lo', 'up');
    ip('-n', name, 'link', 'set', 'eth0', 'up');
  }
}

/** The configuration of docs/deploy/postgresql.md, with short intervals. */
const configure = (n: number, folder: string, synchronous: boolean, bin: string) => `
scope: intentbook
name: node${n}
restapi: { listen: '${addressOf(n)}:8008', connect_address: '${addressOf(n)}:8008' }
etcd: { host: '${NETWORK.gateway}:2379' }
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    maximum_lag_on_failover: 1048576
    synchronous_mode: ${synchronous}
    postgresql:
      use_pg_rewind: true
      parameters: { max_connections: 100, wal_log_hints: 'on', min_wal_size: 32MB, max_wal_size: 64MB }
  initdb: [ { encoding: UTF8 }, { locale: C } ]
postgresql:
  listen: '${addressOf(n)}:5432'
  connect_address: '${addressOf(n)}:5432'
  data_dir: ${folder}/data
  bin_dir: ${bin}
  pgpass: ${folder}/pgpass
  pg_hba: [ 'local all all trust', 'host all all 0.0.0.0/0 trust', 'host replication all 0.0.0.0/0 trust' ]
  authentication:
    superuser: { username: postgres, password: rehearsal }
    replication: { username: replicator, password: rehearsal }
    rewind: { username: rewinder, password: rehearsal }
  parameters: { unix_socket_directories: '${folder}' }
`;

/** Starts a cluster of three nodes and waits until all replicate. */
export async function startPatroni(synchronous: boolean): Promise<HaCluster> {
  const bin = findServer();
  if (bin === undefined) throw new Error('no PostgreSQL of Debian is installed');
  const account = unprivileged();
  const home = mkdtempSync(join(tmpdir(), 'intentbook-ha-'));
  chmodSync(home, 0o755);
  const children: ChildProcess[] = [];
  const start = (command: string, args: readonly string[]) => {
    const child = spawn(command, args, { cwd: home, stdio: 'ignore', detached: true });
    child.unref();
    children.push(child);
    return child;
  };
  const dispose = async () => {
    for (const { pid } of children) for (const each of findTree(pid ?? 0)) signal(each, 'SIGKILL');
    removeNetwork();
    await sleep(200);
    for (const n of NODES) spawnSync('umount', ['--lazy', join(home, `node${n}`)]);
    rmSync(home, { recursive: true, force: true });
  };
  try {
    createNetwork();
    const clients = `http://${NETWORK.gateway}:2379`;
    const dcs = ['--data-dir', join(home, 'etcd'), '--listen-client-urls', clients, '--advertise-client-urls', clients];
    start('etcd', [...dcs, '--listen-peer-urls', 'http://127.0.0.1:0', '--enable-v2=true', '--unsafe-no-fsync=true']);
    const nodes = NODES.map((n): HaNode & { readonly n: number } => {
      const folder = join(home, `node${n}`);
      mkdirSync(folder, { mode: 0o700 });
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE}`, 'intentbook', folder]);
      chmodSync(folder, 0o700);
      const file = join(home, `node${n}.yml`);
      writeFileSync(file, configure(n, folder, synchronous, bin));
      if (account.uid !== undefined && account.gid !== undefined) chownSync(folder, account.uid, account.gid);
      const identity = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
      const child = start('ip', ['netns', 'exec', namespaceOf(n), 'setpriv', ...identity, 'patroni', file]);
      return {
        n,
        name: `node${n}`,
        url: `postgres://postgres@${addressOf(n)}:5432/postgres`,
        kill: () => signal(Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL'),
        freeze(frozen) {
          for (const pid of findTree(child.pid ?? 0)) signal(pid, frozen ? 'SIGSTOP' : 'SIGCONT');
        },
        cut: (isCut) => ip('link', 'set', `ibha${n}`, isCut ? 'down' : 'up'),
        fill(isFull) {
          const full = join(folder, 'full');
          if (isFull) spawnSync('dd', ['if=/dev/zero', `of=${full}`, 'bs=64k'], { stdio: 'ignore' });
          else rmSync(full, { force: true });
        },
      };
    });
    const request = (n: number, path: string, init: RequestInit = {}) =>
      fetch(`http://${addressOf(n)}:8008${path}`, {
        ...init,
        signal: AbortSignal.timeout(init.method ? 30_000 : 1000),
      });
    const findPrimary = async () => {
      const states = nodes.map(async (node) =>
        (await request(node.n, '/primary').catch(() => undefined))?.ok ? node : undefined,
      );
      return (await Promise.all(states)).find((node) => node !== undefined);
    };
    const count = async (path: string) => {
      const states = NODES.map(async (n) => (await request(n, path).catch(() => undefined))?.ok === true);
      return (await Promise.all(states)).filter(Boolean).length;
    };
    // Only a synchronous standby can take over from its primary.
    const isComplete = async () =>
      (await count('/primary')) === 1 &&
      (await count('/replica')) === NODES.length - 1 &&
      (!synchronous || (await count('/synchronous')) > 0);
    const port = await freePort();
    writeFileSync(join(home, 'haproxy.cfg'), balance(port));
    start('haproxy', ['-db', '-f', join(home, 'haproxy.cfg')]);
    for (let i = 0; !(await isComplete()); i++) {
      if (i > 240) throw new Error('the cluster did not start');
      await sleep(500);
    }
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      nodes,
      findPrimary,
      isComplete,
      async switchOver() {
        const primary = await findPrimary();
        const n = nodes.find(({ name }) => name === primary?.name)?.n ?? 1;
        const body = JSON.stringify({ leader: primary?.name });
        for (let i = 0; ; i++) {
          const response = await request(n, '/switchover', { method: 'POST', body });
          if (response.ok) return;
          // A standby can cease to be synchronous for a moment.
          const isRefused = response.status === 412 && i < 30;
          if (!isRefused) throw new Error(`the switchover was rejected: ${await response.text()}`);
          await sleep(1000);
        }
      },
      dispose,
    };
  } catch (failure) {
    await dispose();
    throw failure;
  }
}

const balance = (port: number) => `
defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
listen postgres
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${NODES.map((n) => `  server node${n} ${addressOf(n)}:5432 check port 8008`).join('\n')}
`;

/** Returns a process and its descendants. */
function findTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // The process has ended.
    }
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid === root || (pid !== undefined && pid > 1 && isBelow(parents.get(pid)));
  return [...parents.keys()].filter(isBelow);
}

function signal(pid: number, name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended.
  }
}
