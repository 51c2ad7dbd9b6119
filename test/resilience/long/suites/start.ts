import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { sqliteStore } from 'intentbook/sqlite';
import { freePort } from '../../../support/postgres-server.ts';
import { fillBook } from '../fairness/fill.ts';
import type { LongSuite } from '../suite.ts';

const CLI = join(import.meta.dirname, '../../../../dist/cli.js');
const ORDERS = 1_000_000;
const CHAINS = [11155111, 1, 8453, 100, 42161, 137, 43114, 56, 59144, 232, 9745, 57073];
/** Maximum time of a start until `/ready` is 200 with all orders, and until the server listens, in milliseconds. */
const MAX_READY = 2_000;
const MAX_LISTENING = 1_000;
/** Each start is repeated, since other work of the machine can only delay it. */
const ROUNDS = 5;

export const suite: LongSuite = {
  description: 'a server with a million orders is ready in two seconds, and listens in one with 12 silent nodes',
  async run({ folder, note }) {
    const db = join(folder, 'start.sqlite');
    for (const end of ['', '-wal', '-shm']) rmSync(`${db}${end}`, { force: true });
    await fillBook(sqliteStore({ path: db, synchronous: 'OFF' }), { orders: ORDERS, trades: 0 });
    const ready = await measure('/ready', (port) => ['--port', String(port), '--db', db, '--accounts', 'off']);
    note(`ready with ${ORDERS} orders`, format(ready));

    const held = new Set<Socket>();
    const silent = createServer((socket) => void held.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const rpc = [`http://127.0.0.1:${(silent.address() as AddressInfo).port}`]; // it listens
    const listening = await measure('/live', (port) => {
      const books = CHAINS.map((chain, i) => ({ chain, path: `/b${i}`, db: join(folder, `start-${i}.sqlite`), rpc }));
      const config = join(folder, 'start.json');
      writeFileSync(config, JSON.stringify({ port, accounts: 'off', books }));
      return ['--config', config];
    });
    note('listening with 12 silent nodes', format(listening));
    for (const socket of held) socket.destroy();
    silent.close();
    if (ready.wall > MAX_READY) throw new Error(`ready after ${format(ready)}`);
    if (listening.wall > MAX_LISTENING) throw new Error(`listening after ${format(listening)}`);
  },
};

/** Times of the fastest start in milliseconds. */
interface StartTime {
  readonly wall: number;
  /** Time of the processors. */
  readonly cpu: number;
}

const format = ({ wall, cpu }: StartTime) => `${Math.round(wall)} ms, of which ${Math.round(cpu)} ms on processors`;

async function measure(path: string, prepare: (port: number) => readonly string[]): Promise<StartTime> {
  const times: StartTime[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const port = await freePort();
    const args = prepare(port);
    const since = performance.now();
    // The server is killed as by a power failure, so that the next start finds its log and its lease.
    const child = spawn(process.execPath, [CLI, 'serve', ...args], { stdio: 'ignore' });
    const gone = once(child, 'exit').then(() => true);
    while ((await probe(port, path)) !== 200) {
      if (await Promise.race([gone, pause()])) throw new Error('the server has ended');
    }
    times.push({ wall: performance.now() - since, cpu: readProcessorTime(child) });
    child.kill('SIGKILL');
    await gone;
  }
  return { wall: Math.min(...times.map(({ wall }) => wall)), cpu: Math.min(...times.map(({ cpu }) => cpu)) };
}

const pause = () => new Promise<false>((resolve) => setTimeout(() => resolve(false), 10));

/** Returns the status of a path, or `undefined` without a response. */
function probe(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', () => resolve(undefined));
  });
}

/** Returns the milliseconds of user and system time of a process. The unit of the file is 10 ms. */
function readProcessorTime({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}
