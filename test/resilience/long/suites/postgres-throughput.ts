import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import { DOMAIN } from '../../../conformance/harness.ts';
import type { SpawnedServer } from '../../../integration/server/spawn.ts';
import { spawnServer } from '../../../integration/server/spawn.ts';
import { completeOrder } from '../../../support/complete-orders.ts';
import { account, signOrder } from '../../../support/orders.ts';
import type { PostgresServer } from '../../../support/postgres-server.ts';
import { startPostgres } from '../../../support/postgres-server.ts';
import type { LongShare, LongSuite } from '../suite.ts';

/**
 * Submissions over HTTP to servers in their own processes: one on PostgreSQL, one on SQLite, and four on one book in
 * PostgreSQL. Rounds of them are interleaved. Needs Linux, for the processor time of other processes.
 *
 * Two peers show which part of the cost of four processes is not that of the store: four servers with a book in SQLite
 * each, and inserts of groups of different sizes by one store.
 */
export const suite: LongSuite = {
  description: 'submissions over HTTP: PostgreSQL compared with SQLite, and four processes with one',
  async run(share) {
    const stack: (() => Promise<unknown>)[] = [];
    try {
      const subjects = await startSubjects(stack);
      const samples: Record<keyof Subjects, Sample[]> = { sqlite: [], fourBooks: [], one: [], four: [], fourBusy: [] };
      const end = Date.now() + share.milliseconds;
      let next = 0;
      const play = async (subject: Subject, count: number) => {
        const requests = await createRequests(share.seed, next, count);
        next += count;
        return measure(subject, requests);
      };
      for (const subject of [subjects.sqlite, subjects.fourBooks, subjects.one, subjects.four]) {
        await play(subject, WARM_UP * subject.servers.length);
      }
      for (let round = 0; round < ROUNDS || Date.now() < end; round++) {
        for (const [name, subject] of Object.entries(subjects) as [keyof Subjects, Subject][]) {
          samples[name].push(await play(subject, ORDERS));
        }
      }
      report(samples, share);
      share.note('CPU per order of the database in groups of 64, 16, 4, 1, in ms', await measureGroups());
      share.count('orders', next);
    } finally {
      for (const close of stack.reverse()) await close().catch(() => {});
    }
  },
};

/** Orders of a round, orders of each server before the first round, connections and rounds. */
const ORDERS = 700;
const WARM_UP = 1400;
const CONNECTIONS = 64;
const ROUNDS = 3;
/** Milliseconds of processor time that `/proc` counts as one. */
const TICK = 10;

/** Servers of one book, and the connections that are spread over them. */
interface Subject {
  readonly connections: number;
  readonly servers: readonly SpawnedServer[];
  readonly database?: PostgresServer;
}

interface Subjects {
  readonly sqlite: Subject;
  /** Four servers that share nothing. */
  readonly fourBooks: Subject;
  readonly one: Subject;
  readonly four: Subject;
  /** The same servers with as many connections each as the one server. */
  readonly fourBusy: Subject;
}

/** Milliseconds of a round. */
interface Sample {
  readonly wall: number;
  /** Processor time of the servers. */
  readonly servers: number;
  /** Processor time of the database server. */
  readonly database: number;
}

async function startSubjects(stack: (() => Promise<unknown>)[]): Promise<Subjects> {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-throughput-'));
  stack.push(async () => rmSync(folder, { recursive: true, force: true }));
  const start = async (...store: readonly string[]) => {
    const server = await spawnServer(['--chain', 'sepolia', '--max-open-orders', '1000000', ...store]);
    stack.push(() => server.end('SIGKILL'));
    return server;
  };
  const startOnPostgres = async (count: number): Promise<Subject> => {
    const database = await startPostgres({ shared_buffers: '1GB', max_wal_size: '4GB' });
    stack.push(() => database.dispose());
    await migratePostgres({ url: database.url });
    const servers: SpawnedServer[] = [];
    while (servers.length < count) servers.push(await start('--postgres', database.url));
    return { connections: CONNECTIONS, servers, database };
  };
  const sqlite = await start('--db', join(folder, 'book.sqlite'));
  const books: SpawnedServer[] = [];
  while (books.length < 4) books.push(await start('--db', join(folder, `book-${books.length}.sqlite`)));
  const four = await startOnPostgres(4);
  return {
    sqlite: { connections: CONNECTIONS, servers: [sqlite] },
    fourBooks: { connections: CONNECTIONS, servers: books },
    one: await startOnPostgres(1),
    four,
    fourBusy: { ...four, connections: 4 * CONNECTIONS },
  };
}

/** Creates raw requests that submit different orders of 64 owners. */
async function createRequests(seed: number, first: number, count: number): Promise<string[]> {
  const validTo = Math.floor(Date.now() / 1000) + 86_400;
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const n = first + i;
      const order = await signOrder(account(n % 2000), { validTo, buyAmount: String(1_000_000_000 * (seed + 1) + n) });
      const body = JSON.stringify(order);
      return (
        'POST /api/v1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
      );
    }),
  );
}

async function measure({ connections, servers, database }: Subject, requests: readonly string[]): Promise<Sample> {
  const sockets = await Promise.all(
    Array.from({ length: connections }, (_, i) => open(servers[i % servers.length]?.url ?? '')),
  );
  const readTimes = () => ({
    servers: servers.reduce((sum, { process }) => sum + readProcessorTime(process.pid ?? 0), 0),
    database: database === undefined ? 0 : readDatabaseTime(database),
  });
  const before = readTimes();
  const start = performance.now();
  let sent = 0;
  await Promise.all(sockets.map((socket) => sendAll(socket, () => requests[sent++])));
  const wall = performance.now() - start;
  const after = readTimes();
  for (const socket of sockets) socket.destroy();
  return { wall, servers: after.servers - before.servers, database: after.database - before.database };
}

function open(url: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => resolve(socket.setNoDelay()));
    socket.once('error', reject);
  });
}

/** Sends requests over one connection, one at a time, until there are no more. Each must be answered with 201. */
function sendAll(socket: Socket, next: () => string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const send = () => {
      const request = next();
      if (request === undefined) resolve();
      else socket.write(request);
    };
    let received = '';
    socket.on('error', reject).on('close', () => reject(new Error('the server has closed the connection')));
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      const [head, body] = received.split('\r\n\r\n');
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head ?? '')?.[1]);
      if (body === undefined || body.length < length) return;
      if (!received.startsWith('HTTP/1.1 201')) return reject(new Error(`a submission failed: ${received}`));
      received = '';
      send();
    });
    send();
  });
}

/** Returns the processor time of a process, in milliseconds. */
function readProcessorTime(pid: number, { children = false } = {}): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime and stime; cutime and cstime of children that have ended
  const ticks = fields.slice(11, children ? 15 : 13).reduce((sum, field) => sum + Number(field), 0);
  return ticks * TICK;
}

/** Returns the processor time of a database server and of its processes, in milliseconds. */
function readDatabaseTime({ data }: PostgresServer): number {
  const postmaster = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  let time = readProcessorTime(postmaster, { children: true });
  for (const name of readdirSync('/proc')) {
    try {
      const stat = readFileSync(`/proc/${Number(name)}/stat`, 'latin1');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      if (parent === postmaster) time += readProcessorTime(Number(name));
    } catch {
      // not a process, or one that has ended
    }
  }
  return time;
}

/** Returns the processor time of the database per order, in milliseconds, for each size of groups. */
async function measureGroups(): Promise<string> {
  const database = await startPostgres({ shared_buffers: '1GB', max_wal_size: '4GB' });
  const store = postgresStore({ url: database.url, migrate: true, listen: false });
  try {
    await store.open({ domain: DOMAIN, clock: systemClock });
    let next = 0;
    const insert = async (size: number) => {
      for (let n = 0; n < GROUPED_ORDERS; n += size) {
        await insertGroup(store, next, size);
        next += size;
      }
    };
    await insert(64);
    const figures: string[] = [];
    for (const size of [64, 16, 4, 1]) {
      const before = readDatabaseTime(database);
      await insert(size);
      figures.push(((readDatabaseTime(database) - before) / GROUPED_ORDERS).toFixed(3));
    }
    return figures.join(', ');
  } finally {
    await store.close();
    await database.dispose();
  }
}

/** Orders that are inserted in groups of one size. */
const GROUPED_ORDERS = 4096;

/** Inserts orders of different owners. */
async function insertGroup(store: Store, first: number, size: number): Promise<void> {
  const orders = Array.from({ length: size }, (_, i) => {
    const owner = `0x${(0xb000 + ((first + i) % 2000)).toString(16).padStart(40, '0')}` as const;
    return { order: completeOrder(first + i, { owner }), quota: 1_000_000 };
  });
  const outcomes = await store.orders.insert(orders, { skipLocked: true });
  if (outcomes.some(({ status }) => status !== 'inserted')) throw new Error('an order was not inserted');
}

function report(
  { sqlite, fourBooks, one, four, fourBusy }: Record<keyof Subjects, Sample[]>,
  { note }: LongShare,
): void {
  const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const perSecond = (samples: readonly Sample[]) => samples.map(({ wall }) => (ORDERS * 1000) / wall);
  const divide = (values: readonly number[], others: readonly number[]) =>
    median(values.map((value, i) => value / (others[i] ?? 0))).toFixed(2);
  const rates = [sqlite, fourBooks, one, four, fourBusy].map((samples) => median(perSecond(samples)).toFixed(0));
  note('orders per second of SQLite, four of SQLite, PostgreSQL, four processes, four busy ones', rates.join(', '));
  note('PostgreSQL ÷ SQLite', divide(perSecond(one), perSecond(sqlite)));
  const times = (samples: readonly Sample[], part: 'servers' | 'database') =>
    samples.map((sample) => sample[part] / ORDERS);
  note('CPU of the servers, four of SQLite ÷ one', divide(times(fourBooks, 'servers'), times(sqlite, 'servers')));
  for (const part of ['servers', 'database'] as const) {
    const medians = [one, four, fourBusy].map((samples) => median(times(samples, part)).toFixed(2));
    note(`CPU per order of the ${part}, in ms, one, four, four busy`, medians.join(', '));
    note(`CPU of the ${part}, four ÷ one`, divide(times(four, part), times(one, part)));
    note(`CPU of the ${part}, four busy ÷ one`, divide(times(fourBusy, part), times(one, part)));
  }
}
