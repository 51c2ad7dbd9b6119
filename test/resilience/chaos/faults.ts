import { spawnSync } from 'node:child_process';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import type { PostgresServer } from '../../support/postgres-server.ts';
import type { NodeFront } from './node-front.ts';
import { NODE_NAME } from './node-front.ts';
import type { SupervisedServer } from './supervised-server.ts';

/** What faults affect. */
export interface ChaosTarget {
  readonly server: SupervisedServer;
  readonly node: NodeFront;
  readonly port: number;
  /** The folder of the files, on a small disk; or the database. */
  readonly store: { readonly folder: string } | { readonly postgres: PostgresServer };
}

/** How a fault that lasts is visible. */
export interface FaultSigns {
  /** Status of `/ready?all`, or `none` without a response. */
  readonly ready: 200 | 500 | 'none';
  /** A line of the log that the fault causes. */
  readonly log?: RegExp;
  /** A line of the metrics. */
  readonly metric?: RegExp;
  /** An alert of the shipped rules. A database that hangs can delay a scrape for longer than its timeout. */
  readonly alert?: 'IntentbookDown' | 'IntentbookNotReady' | 'IntentbookChainDown';
  /** Further alerts, which the load or the log of the fault causes. */
  readonly further?: readonly ('IntentbookRequestsFail' | 'IntentbookFailures')[];
}

/** A fault of a resource of the process. */
export interface Fault {
  /** A resource of the table in docs/deploy/operations.md, and the fault. */
  readonly name: string;
  readonly store?: 'SQLite' | 'PostgreSQL';
  readonly signs: FaultSigns;
  /** Begins the fault. The result ends it. */
  begin(target: ChaosTarget): Promise<() => void | Promise<void>>;
}

const DOWN = { ready: 'none', alert: 'IntentbookDown' } as const;
const NODE_DOWN = (log: RegExp) =>
  ({ ready: 200, log, metric: /^intentbook_chain_up\{.*\} 0$/m, alert: 'IntentbookChainDown' }) as const;
const NOT_READY = (log: RegExp) =>
  ({ ready: 500, log, metric: /^intentbook_ready\{.*\} 0$/m, alert: 'IntentbookNotReady' }) as const;

/** Sets limits of the process, and returns a function that sets the previous ones, unless it has ended. */
function limit({ pid }: SupervisedServer, resource: string, value: string): () => void {
  const id = pid();
  if (id === undefined) return () => {};
  const run = (...args: string[]) => spawnSync('prlimit', ['--pid', String(id), ...args], { encoding: 'utf8' }).stdout;
  const before = run('--raw', '--noheadings', '--output', 'SOFT', `--${resource}`)?.trim();
  run(`--${resource}=${value}:`);
  return () => void run(`--${resource}=${before}:`);
}

function signal({ pid }: SupervisedServer, name: NodeJS.Signals): void {
  const id = pid();
  if (id !== undefined) process.kill(id, name);
}

const nodeFault = (name: string, mode: 'hang' | 'close' | 'expired'): Fault => ({
  name,
  signs: NODE_DOWN(/chain: node 1 .*does not respond/),
  async begin({ node }) {
    node.behave(mode);
    return () => node.behave('work');
  },
});

/** All faults. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'descriptors: none is free',
    signs: DOWN,
    begin: async ({ server }) => limit(server, 'nofile', '1'),
  },
  {
    name: 'memory: the process gets no more',
    // The process may go on with the memory that it has, or end and start again.
    signs: { ready: 200 },
    async begin({ server }) {
      const id = server.pid();
      if (id === undefined) return () => {};
      const size = readFileSync(`/proc/${id}/statm`, 'utf8').split(' ')[0];
      return limit(server, 'as', String(Number(size) * 4096));
    },
  },
  {
    name: 'threads: the write thread ends',
    store: 'SQLite',
    signs: { ...DOWN, log: /has lost its store: .*write thread/ },
    async begin({ server }) {
      const release = server.hold();
      signal(server, 'SIGUSR2');
      return release;
    },
  },
  {
    name: 'disk: it is full',
    store: 'SQLite',
    signs: {
      ...NOT_READY(/is not ready \(.*store: /),
      further: ['IntentbookRequestsFail', 'IntentbookFailures'],
    },
    async begin({ store }) {
      const path = join('folder' in store ? store.folder : '', 'full');
      const file = openSync(path, 'w');
      try {
        for (;;) writeSync(file, Buffer.alloc(65_536));
      } catch {
        // The disk is full.
      }
      closeSync(file);
      return () => rmSync(path, { force: true });
    },
  },
  {
    name: 'file identity: the file of a book is moved',
    store: 'SQLite',
    signs: { ...DOWN, log: /has lost its store/ },
    async begin({ server, store }) {
      const file = join('folder' in store ? store.folder : '', 'book0.sqlite');
      const release = server.hold();
      const ends = ['', '-wal', '-shm'];
      const move = (from: string, to: string) => {
        for (const end of ends) {
          try {
            renameSync(`${file}${from}${end}`, `${file}${to}${end}`);
          } catch {
            // A closed database has one file.
          }
        }
      };
      move('', '.moved');
      return () => {
        move('.moved', '');
        release();
      };
    },
  },
  {
    name: 'clock: it is an hour ahead',
    signs: { ready: 200 },
    async begin({ server }) {
      server.setClock(3_600_000);
      return () => server.setClock(0);
    },
  },
  {
    name: 'clock: it is an hour behind',
    signs: { ready: 200 },
    async begin({ server }) {
      server.setClock(-3_600_000);
      return () => server.setClock(0);
    },
  },
  {
    name: 'signals: SIGSTOP',
    signs: DOWN,
    async begin({ server }) {
      signal(server, 'SIGSTOP');
      return () => signal(server, 'SIGCONT');
    },
  },
  {
    name: 'signals: SIGKILL, without a restart',
    signs: DOWN,
    async begin({ server }) {
      const release = server.hold();
      signal(server, 'SIGKILL');
      return release;
    },
  },
  {
    name: 'signals: SIGHUP',
    signs: { ready: 200 },
    async begin({ server }) {
      signal(server, 'SIGHUP');
      return () => {};
    },
  },
  {
    name: 'package files: the package is removed',
    signs: { ready: 200 },
    async begin({ server }) {
      renameSync(server.package, `${server.package}-old`);
      return () => renameSync(`${server.package}-old`, server.package);
    },
  },
  {
    name: 'package files: the package is removed, and the process ends',
    signs: { ...DOWN, log: /Cannot find module|ERR_MODULE_NOT_FOUND/ },
    async begin({ server }) {
      renameSync(server.package, `${server.package}-old`);
      signal(server, 'SIGTERM');
      return () => renameSync(`${server.package}-old`, server.package);
    },
  },
  {
    name: 'connections: a thousand are idle',
    signs: { ready: 200 },
    async begin({ port }) {
      const sockets: Socket[] = Array.from({ length: 1_000 }, (_, i) =>
        connect({ host: '127.0.0.1', port, localAddress: `127.0.2.${1 + (i % 10)}` }).on('error', () => {}),
      );
      return () => {
        for (const socket of sockets) socket.destroy();
      };
    },
  },
  {
    name: 'DNS: the name of the node is unknown',
    signs: NODE_DOWN(/chain: node 1 .*does not respond/),
    async begin({ server, node }) {
      const names = readFileSync(server.hosts, 'utf8');
      writeFileSync(server.hosts, names.replace(NODE_NAME, ''));
      node.behave('work'); // closes the connections that know the address
      return () => writeFileSync(server.hosts, names);
    },
  },
  nodeFault('connections: the node hangs', 'hang'),
  nodeFault('connections: the node closes them', 'close'),
  nodeFault('certificates: that of the node has expired', 'expired'),
  {
    name: 'connections: the database is frozen',
    store: 'PostgreSQL',
    signs: NOT_READY(/is not ready \(.*store: /),
    async begin({ store }) {
      if (!('postgres' in store)) return () => {};
      const backends = readdirSync('/proc').filter((id) => isBelow(id, store.postgres.data));
      const send = (name: NodeJS.Signals) => {
        for (const id of backends) process.kill(Number(id), name);
      };
      send('SIGSTOP');
      return () => send('SIGCONT');
    },
  },
  {
    name: 'connections: the database is stopped',
    store: 'PostgreSQL',
    signs: NOT_READY(/is not ready \(.*store: /),
    async begin({ store }) {
      if (!('postgres' in store)) return () => {};
      await store.postgres.stop();
      return () => store.postgres.start();
    },
  },
  {
    name: 'connections: others use all of the database, and cut those of the server',
    store: 'PostgreSQL',
    signs: NOT_READY(/is not ready \(.*store: /),
    async begin({ store }) {
      if (!('postgres' in store)) return () => {};
      const clients: pg.Client[] = [];
      let isOver = false;
      const connect = async () => {
        const client = new pg.Client({ connectionString: store.postgres.url });
        client.on('error', () => {});
        await client.connect();
        clients.push(client);
      };
      const terminate =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'intentbook%'";
      await connect();
      const taking = (async () => {
        // The server takes a part of the connections that it has lost again.
        while (!isOver) {
          await connect().catch(async () => {
            await clients[0]?.query(terminate);
          });
        }
      })();
      return async () => {
        isOver = true;
        await taking;
        await Promise.all(clients.map((client) => client.end()));
      };
    },
  },
];

/** Returns whether a process works in the folder of a database. */
function isBelow(id: string, data: string): boolean {
  try {
    return /^\d+$/.test(id) && readlinkSync(`/proc/${id}/cwd`) === data;
  } catch {
    return false; // it has ended
  }
}
