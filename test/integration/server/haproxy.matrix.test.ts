import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migratePostgres } from 'intentbook/postgres';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { account, signOrder } from '../../support/orders.ts';
import { findMissingPrograms } from '../../support/poolers.ts';
import { temporaryDatabase } from '../../support/postgres.ts';
import { freePort } from '../../support/postgres-server.ts';
import { CLI } from './process.ts';
import type { SpawnedServer } from './spawn.ts';
import { spawnProgram } from './spawn.ts';

/** What HAProxy does with connections to servers, and with requests whose connection ends without a response. */
const POLICIES = [
  { name: 'as installed', reuse: 'safe', retryOn: 'conn-failure' },
  { name: 'that repeats requests on shared connections', reuse: 'always', retryOn: 'all-retryable-errors' },
] as const;
type Policy = (typeof POLICIES)[number];

/** Restarts of a server by its index, or of the worker of HAProxy. Only SIGKILL leaves requests without a response. */
const RESTARTS = [
  { of: 0, by: 'SIGTERM' },
  { of: 1, by: 'SIGKILL' },
  { of: 'proxy', by: 'SIGUSR2' },
  { of: 1, by: 'SIGTERM' },
] as const;

const CLIENTS = 8;
/** Orders that a server accepts between two restarts. */
const BETWEEN = 12;
/** Maximum time of a request, in milliseconds. It is twice that of HAProxy. */
const TIMEOUT = 20_000;

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Starts HAProxy in front of servers. A header of each response has the name of the server. */
async function startProxy({ reuse, retryOn }: Policy, targets: readonly number[]) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-haproxy-'));
  const file = join(folder, 'haproxy.cfg');
  const lines = [
    'global',
    `  stats socket ${folder}/admin expose-fd listeners level admin`,
    'defaults',
    '  mode http',
    '  option redispatch',
    '  option idle-close-on-response',
    '  timeout connect 1s',
    '  timeout check 5s',
    '  timeout client 30s',
    '  timeout server 10s',
    'listen orders',
    `  bind 127.0.0.1:${port}`,
    '  option httpchk GET /ready',
    `  http-reuse ${reuse}`,
    `  retry-on ${retryOn}`,
    '  http-response set-header x-server %s',
    ...targets.map((target, i) => `  server ${i} 127.0.0.1:${target} check inter 100ms fall 1 rise 1`),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const proxy = spawn('haproxy', ['-W', '-f', file], { stdio: 'ignore' });
  onTestFinished(async () => {
    proxy.kill();
    if (proxy.exitCode === null) await once(proxy, 'exit');
    rmSync(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/ready`).catch(() => undefined))?.ok) {
    if (proxy.exitCode !== null) throw new Error(`HAProxy has ended with ${proxy.exitCode}`);
    await pause();
  }
  return { url, reload: () => proxy.kill('SIGUSR2') };
}

/** Certain knowledge of the clients, and observed violations. */
interface Observations {
  readonly acknowledged: string[];
  readonly strange: string[];
  /** Orders by the server that has accepted them. */
  readonly accepted: number[];
  stored: number;
  /** Requests without a response of a server. */
  unanswered: number;
}

/** Submits one order until its outcome is certain. */
async function submit(url: string, body: string, policy: Policy, seen: Observations): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  for (let attempt = 0; ; attempt++) {
    try {
      const signal = AbortSignal.timeout(TIMEOUT);
      const response = await fetch(`${url}/api/v1/orders`, { method: 'POST', headers, body, signal });
      const text = await response.text();
      const isRepeated = attempt > 0 || policy.retryOn === 'all-retryable-errors';
      if (response.status === 201) {
        seen.acknowledged.push(JSON.parse(text));
        const server = Number(response.headers.get('x-server'));
        seen.accepted[server] = (seen.accepted[server] ?? 0) + 1;
      }
      if (response.status === 201 || (isRepeated && text.includes('DuplicatedOrder'))) {
        seen.stored++;
        return;
      }
      // These are of HAProxy: no server, no response, or no response in time.
      if (![502, 503, 504].includes(response.status)) {
        seen.strange.push(`${response.status} ${text}`);
        return;
      }
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') seen.strange.push('a request had no end');
    }
    seen.unanswered++;
    await pause();
  }
}

const missing = findMissingPrograms('haproxy');
const reason = missing.length > 0 ? ' (skipped: it is not installed)' : '';

describe.skipIf(reason !== '')(`orders through HAProxy${reason}`, () => {
  it.each(POLICIES)('$name are stored once while servers and HAProxy restart', async (policy) => {
    await using database = await temporaryDatabase();
    await migratePostgres({ url: database.url });
    const ports = [await freePort(), await freePort()];
    const settings = [
      '--rate-limit',
      'off',
      '--max-open-orders',
      '10000',
      '--lameduck',
      '2',
      '--postgres',
      database.url,
    ];
    const start = (port = 0) => spawnProgram([CLI, 'serve', '--port', String(port), ...settings]);
    const servers: SpawnedServer[] = await Promise.all(ports.map(start));
    onTestFinished(() => Promise.all(servers.map((server) => server.end('SIGKILL'))).then(() => {}));
    const { url, reload } = await startProxy(policy, ports);
    const seen: Observations = { acknowledged: [], strange: [], accepted: [], stored: 0, unanswered: 0 };
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    let isOver = false;
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = 1; !isOver && seen.strange.length === 0; n++) {
        const order = await signOrder(account(client), { validTo, sellAmount: `${n}` });
        await submit(url, JSON.stringify(order), policy, seen);
      }
    });
    /** Waits until both servers accept orders. */
    async function accept(): Promise<void> {
      const before = [...seen.accepted];
      while (ports.some((_, i) => (seen.accepted[i] ?? 0) < (before[i] ?? 0) + BETWEEN)) {
        if (seen.strange.length > 0) throw new Error(seen.strange.join());
        await pause();
      }
    }
    try {
      await accept();
      for (const restart of RESTARTS) {
        const before = seen.unanswered;
        if (restart.of === 'proxy') reload();
        else {
          await servers[restart.of]?.end(restart.by);
          servers[restart.of] = await start(ports[restart.of]);
        }
        await accept();
        if (restart.by !== 'SIGKILL') expect([restart, seen.unanswered - before]).toEqual([restart, 0]);
      }
    } finally {
      isOver = true;
      await Promise.all(clients);
    }
    expect(seen.strange).toEqual([]);
    // Without a request that a kill has ended, the test would show nothing.
    if (policy.retryOn === 'conn-failure') expect(seen.unanswered).toBeGreaterThan(0);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query(
      `SELECT '0x' || encode(substr(key, 5) || substr(key, 1, 4), 'hex') AS uid, count(type)::int AS entries
       FROM intentbook.orders LEFT JOIN intentbook.events USING (key) GROUP BY key`,
    );
    await client.end();
    expect(rows.filter(({ entries }) => entries !== 1)).toEqual([]);
    expect(rows).toHaveLength(seen.stored);
    const stored = new Set(rows.map(({ uid }) => uid));
    expect(seen.acknowledged.filter((uid) => !stored.has(uid))).toEqual([]);
    expect(new Set(seen.acknowledged).size).toBe(seen.acknowledged.length);
  });
});
