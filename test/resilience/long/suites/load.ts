import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import type { LongSuite } from '../suite.ts';

const [ORDERS, TRADES] = [120_000, 30_000];
const OWNER = `0x${(0xa11ce).toString(16).padStart(40, '0')}`;
const token = (n: number) => `0x${(0xe000 + n).toString(16).padStart(40, '0')}`;
const UID = `0x${'1'.padStart(64, '0')}${OWNER.slice(2)}${(4_000_000_000).toString(16)}`;

/** Factor by which one client may raise the 99th percentile of another client's `GET /live`. */
const MAX_FACTOR = 5;

/** Time between two probes, in milliseconds. */
const PROBE_INTERVAL = 10;

/** Concurrent connections of the demanding client. */
const CONNECTIONS = 8;

interface Route {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const uids = Array.from({ length: 128 }, () => UID);
const json = { 'content-type': 'application/json' };

const ROUTES: readonly Route[] = [
  { path: '/api/v1/version' },
  { path: `/api/v1/orders/${UID}` },
  { path: `/api/v1/orders/${UID}/status` },
  { path: '/api/v1/orders/by_uids', method: 'POST', headers: json, body: JSON.stringify(uids) },
  { path: '/api/v1/orders?limit=1000' },
  { path: `/api/v1/orders?sellToken=${token(1)}&buyToken=${token(99)}` },
  { path: `/api/v1/orders?owner=${OWNER}&sellToken=${token(99)}` },
  { path: `/api/v1/orders?status=open&sellToken=${token(99)}` },
  { path: '/api/v1/orders?status=expired&limit=1000' },
  { path: `/api/v1/account/${OWNER}/orders?limit=1000&offset=29000` },
  { path: `/api/v1/trades?owner=${OWNER}` },
  { path: `/api/v2/trades?owner=${OWNER}&limit=1000&offset=29000` },
  { path: `/api/v1/users/${OWNER}/total_surplus` },
  { path: '/api/v1/auction' },
  { path: `/api/v1/orders/stream?owner=${token(5)}`, headers: { 'last-event-id': 'resume' } },
  { path: '/api/v1/orders/stream', headers: { 'last-event-id': 'resume' } },
  { path: `/api/v1/transactions/0x${'1'.padStart(64, '0')}/orders` },
  { path: '/api/v1/solver_competition/latest' },
  { path: `/api/v1/token/${token(1)}/metadata` },
  { path: '/api/v1/orders', method: 'POST', headers: json, body: '{}' },
];

export const suite: LongSuite = {
  description: 'one client within the default limits does not delay another client, whatever route it uses',
  async run({ folder, milliseconds, count, note }) {
    const path = join(folder, 'book.sqlite');
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
    const { child, port, last } = await startServer(path);
    try {
      const perRoute = Math.max(2000, Math.min(15_000, milliseconds / (ROUTES.length + 2)));
      await load(port, { path: '/api/v1/auction' }, 1, 3000, last); // the first auction reads the whole book
      const quiet = await measure(port, perRoute, () =>
        load(port, { path: `/api/v1/orders/${UID}` }, 5, perRoute, last),
      );
      const limit = MAX_FACTOR * quiet.p99;
      const rows = [`beside a well-behaved client: p50 ${ms(quiet.p50)}, p99 ${ms(quiet.p99)}`];
      const slow: string[] = [];
      for (const route of ROUTES) {
        const found = await measure(port, perRoute, () => load(port, route, undefined, perRoute, last));
        const name = `${route.method ?? 'GET'} ${route.path.slice(0, 60)}`;
        rows.push(
          `${ms(found.p99).padStart(9)} ${(found.p99 / quiet.p99).toFixed(1).padStart(5)}× ${found.sent} ${name}`,
        );
        if (found.p99 > limit) slow.push(`${name}: p99 ${ms(found.p99)}, limit ${ms(limit)}`);
        count('routes');
        count('requests', found.sent);
      }
      note('p99 beside a well-behaved client', ms(quiet.p99));
      writeFileSync(join(folder, 'table.txt'), `${rows.join('\n')}\n`);
      note('table', `${rows.length - 1} routes, see table.txt in the folder of the suite`);
      if (slow.length > 0) throw new Error(`a client delays another client:\n${slow.join('\n')}`);
    } finally {
      child.kill();
      await once(child, 'exit');
      rmSync(path, { force: true });
    }
  },
};

const ms = (value: number) => `${value.toFixed(1)} ms`;

async function startServer(path: string): Promise<{ child: ChildProcess; port: number; last: number }> {
  const script = join(import.meta.dirname, '../load-server.mjs');
  const child = spawn(process.execPath, [script, path, String(ORDERS), String(TRADES)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { child, ...JSON.parse(String(line)) };
}

/** Probes `/live` from another address while a load runs. */
async function measure(port: number, duration: number, start: () => Promise<number>) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const times: number[] = [];
  const probes: Promise<unknown>[] = [];
  const loading = start();
  const end = performance.now() + duration;
  while (performance.now() < end) {
    const startedAt = performance.now();
    const probe = send(port, { path: '/live' }, '127.0.0.2', agent).then(() =>
      times.push(performance.now() - startedAt),
    );
    probes.push(probe);
    await new Promise((resolve) => setTimeout(resolve, PROBE_INTERVAL));
  }
  await Promise.all(probes);
  const sent = await loading;
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), sent };
}

/** Sends one route for a time: as fast as possible, or at a rate. A rejected client waits for 50 ms. */
async function load(port: number, route: Route, perSecond: number | undefined, duration: number, last: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const end = performance.now() + duration;
  let sent = 0;
  const headers = { ...route.headers };
  if (headers['last-event-id'] !== undefined) headers['last-event-id'] = String(Math.max(0, last - 9999));
  const worker = async () => {
    while (performance.now() < end) {
      const status = await send(port, { ...route, headers }, '127.0.0.1', agent);
      sent++;
      if (perSecond !== undefined || status === 429) {
        await new Promise((resolve) => setTimeout(resolve, perSecond === undefined ? 50 : 1000 / perSecond));
      }
    }
  };
  await Promise.all(Array.from({ length: perSecond === undefined ? CONNECTIONS : 1 }, worker));
  agent.destroy();
  return sent;
}

/** Sends a request and reads its response. A stream is left after 100 ms. */
function send(port: number, { path, method = 'GET', headers = {}, body }: Route, localAddress: string, agent: Agent) {
  return new Promise<number>((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, localAddress, agent }, (response) => {
      const status = response.statusCode ?? 0;
      response.on('error', () => resolve(status)).on('close', () => resolve(status));
      response.resume();
      if (response.headers['content-type'] === 'text/event-stream') setTimeout(() => sent.destroy(), 100);
    });
    sent.on('error', () => resolve(0)).end(body);
  });
}
