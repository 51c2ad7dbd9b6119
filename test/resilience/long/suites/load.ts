import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { LoadRoute } from '../load-routes.ts';
import { LOAD_ROUTES, ORDERS, TRADES, UID } from '../load-routes.ts';
import type { LongSuite } from '../suite.ts';

/** Factor by which one client may raise the 99th percentile of another client's `GET /live`. */
const MAX_FACTOR = 5;

/** Time between two probes, in milliseconds. */
const PROBE_INTERVAL = 10;

/** Table with the results. `INTENTBOOK_WRITE=1` replaces it. */
const PAGE = join(import.meta.dirname, '../../../../docs/reference/costs.md');

interface Server {
  readonly child: ChildProcess;
  readonly port: number;
  /** Newest position of the log. */
  readonly last: number;
}

interface Measured {
  /** Percentiles of the time of `GET /live`, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly sent: number;
  readonly rejected: number;
}

/** The result of a route, beside that of a well-behaved client. */
interface Compared {
  readonly route: LoadRoute;
  readonly found: Measured;
  readonly quiet: Measured;
}

export const suite: LongSuite = {
  description: 'one client within the default limits does not delay another client, whatever route it uses',
  async run({ folder, milliseconds, count, note }) {
    const path = join(folder, 'book.sqlite');
    removeBook(path);
    const server = await startServer(path);
    try {
      const duration = Math.max(2000, Math.min(15_000, milliseconds / (LOAD_ROUTES.length + 4)));
      await measure(server, { path: '/api/v1/auction' }, 3000, 1); // the first auction reads the whole book
      const quiet = await measureQuiet(server, duration);
      const results: Compared[] = [];
      for (const route of LOAD_ROUTES) {
        const result = await compare(server, route, quiet, duration);
        results.push(result);
        count('routes');
        count('requests', result.found.sent);
      }
      note('p99 beside a well-behaved client', formatTime(quiet.p99));
      note('largest factor', Math.max(...results.map(getFactor)).toFixed(1));
      const table = formatTable(results);
      writeFileSync(join(folder, 'table.md'), table);
      if (process.env['INTENTBOOK_WRITE'] === '1') writeTable(table);
      const slow = results.filter((result) => getFactor(result) > MAX_FACTOR);
      if (slow.length > 0) throw new Error(`a client delays another client:\n${formatTable(slow)}`);
    } finally {
      server.child.kill();
      await once(server.child, 'exit');
      removeBook(path);
    }
  },
};

const removeBook = (path: string) => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
};

async function startServer(path: string): Promise<Server> {
  const script = join(import.meta.dirname, '../load-server.mjs');
  const child = spawn(process.execPath, [script, path, String(ORDERS), String(TRADES)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { child, ...JSON.parse(String(line)) };
}

/**
 * Compares a route with a well-behaved client. A result above the limit is measured again, for twice the time and
 * beside a new base, because other processes of the machine also delay probes.
 */
async function compare(server: Server, route: LoadRoute, quiet: Measured, duration: number): Promise<Compared> {
  const first = { route, quiet, found: await measure(server, route, duration) };
  if (getFactor(first) <= MAX_FACTOR) return first;
  return {
    route,
    quiet: await measureQuiet(server, 2 * duration),
    found: await measure(server, route, 2 * duration),
  };
}

/** Number of clients so far. */
let clients = 0;

const measureQuiet = (server: Server, duration: number) =>
  measure(server, { path: `/api/v1/orders/${UID}` }, duration, 5);

const getFactor = ({ found, quiet }: Compared) => found.p99 / quiet.p99;

/** Probes `/live` from another address while a client sends requests. */
async function measure(
  { port, last }: Server,
  { path, method, headers, body, resumes }: Omit<LoadRoute, 'name'>,
  duration: number,
  perSecond?: number,
): Promise<Measured> {
  const resume = resumes === true ? { 'last-event-id': String(Math.max(0, last - 9999)) } : {};
  const sent = { path, method, body, headers: Object.assign({}, headers, resume) };
  // Each measurement has its own client, whose bucket is full.
  const localAddress = `127.0.1.${++clients}`;
  const workerData = Object.assign({ port, duration, perSecond, localAddress }, sent);
  const client = new Worker(join(import.meta.dirname, '../load-client.mjs'), { workerData });
  const finished = once(client, 'message');
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const probes: Promise<number>[] = [];
  for (const end = performance.now() + duration; performance.now() < end; ) {
    probes.push(probe(port, agent));
    await new Promise((resolve) => setTimeout(resolve, PROBE_INTERVAL));
  }
  const times = (await Promise.all(probes)).sort((a, b) => a - b);
  const [counts] = (await finished) as [{ sent: number; rejected: number }]; // see load-client.mjs
  agent.destroy();
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), ...counts };
}

/** Returns the time of `GET /live`, in milliseconds. */
function probe(port: number, agent: Agent): Promise<number> {
  const since = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/live', localAddress: '127.0.0.2', agent }, (response) => {
      response.on('close', () => resolve(performance.now() - since)).resume();
    });
    sent.on('error', reject).end();
  });
}

const formatTime = (value: number) => `${value.toFixed(1)} ms`;

function formatTable(results: readonly Compared[]): string {
  const rows = results.map((result) => {
    const { route, found, quiet } = result;
    const times = [formatTime(found.p50), formatTime(found.p99), formatTime(quiet.p99)];
    const cells = [`\`${route.name}\``, ...times, getFactor(result).toFixed(1), found.sent, found.rejected];
    return `| ${cells.join(' | ')} |`;
  });
  const header = '| requests | p50 | p99 | p99 of the base | factor | sent | rejected |';
  return [header, '|---|---:|---:|---:|---:|---:|---:|', ...rows, ''].join('\n');
}

function writeTable(table: string): void {
  const [begin, end] = ['<!-- load:begin -->', '<!-- load:end -->'];
  const text = readFileSync(PAGE, 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error('docs/reference/costs.md must have the markers load:begin and load:end');
  writeFileSync(PAGE, `${before}${begin}\n\n${table}\n${end}${after}`);
}
