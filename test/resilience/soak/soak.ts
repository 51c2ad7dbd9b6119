import { readFileSync } from 'node:fs';
import type { SpawnedServer } from '../../integration/server/spawn.ts';
import { spawnServer } from '../../integration/server/spawn.ts';
import type { Client } from './client.ts';
import { createClient } from './client.ts';
import { Verifier } from './verifier.ts';

export interface SoakPlan {
  readonly seed: number;
  /** The database file of the server. */
  readonly path: string;
  /** Duration of the capacity measurement, and of the load after it. */
  readonly measure: number;
  readonly milliseconds: number;
  /** Number of restarts, by SIGKILL and SIGTERM alternately, all in the first half. */
  readonly restarts: number;
}

export interface SoakReport {
  /** Wrong responses, the first twenty. */
  readonly wrong: readonly string[];
  readonly requests: number;
  /** Requests whose connection was closed by a restart. */
  readonly broken: number;
  readonly orders: number;
  /** Requests per second. */
  readonly limit: number;
  readonly rate: number;
  /** Milliseconds from the scheduled time of a request to its response, by kind. */
  readonly latencies: Readonly<Record<string, { readonly p50: number; readonly p99: number; readonly p999: number }>>;
  /** Resident memory since the last start and warm-up: at the end, and its growth by regression. */
  readonly memory: { readonly mib: number; readonly mibPerMinute: number; readonly samples: number };
}

const SHARE = 0.7;
const CLIENTS = 32;
/** Number of concurrent requests above which the load generator delays itself. */
const MOST_WAITING = 512;

/** Loads a server near its capacity and compares every response with the expected state. */
export async function soak({ seed, path, measure, milliseconds, restarts }: SoakPlan): Promise<SoakReport> {
  const verifier = new Verifier(seed);
  const latencies = new Map<string, number[]>();
  let requests = 0;
  let broken = 0;
  let server = await start(path);
  let client = createClient(server.url);
  let isDown = false;

  async function one(due: number, usedClient: Client): Promise<void> {
    const wasDown = isDown;
    const kind = await verifier.send(usedClient);
    requests++;
    if (kind !== 'broken') {
      const list = latencies.get(kind) ?? [];
      latencies.set(kind, list);
      list.push(performance.now() - due);
      return;
    }
    broken++;
    // Only a killed server may leave a request without a response.
    if (!wasDown && usedClient === client && !isDown)
      verifier.wrong.push('a connection broke while the server was running');
  }

  async function restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    // At least one request is always running, independently of the capacity.
    const cut = Array.from({ length: CLIENTS }, () => one(performance.now(), client));
    await cut[0];
    isDown = true;
    const ended = await server.end(signal);
    if (signal === 'SIGTERM' && ended.code !== 0) verifier.wrong.push(`it ended with ${JSON.stringify(ended)}`);
    client.close();
    server = await start(path);
    client = createClient(server.url);
    await Promise.all(cut);
    isDown = false;
  }

  try {
    const limit = await measureLimit(measure, () => one(performance.now(), client));
    latencies.clear();
    const rate = SHARE * limit;
    const begin = performance.now();
    const end = begin + milliseconds;
    const every = milliseconds / 2 / (restarts + 1);
    const memory: { at: number; mib: number }[] = [];
    const waiting = new Set<Promise<void>>();
    let restarted = 0;
    let sent = 0;
    let nextSample = begin;
    while (performance.now() < end) {
      const now = performance.now();
      if (restarted < restarts && now - begin > every * (restarted + 1)) {
        await restart(restarted++ % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
        // Missed requests are not repeated.
        sent = Math.floor(((performance.now() - begin) / 1000) * rate);
        memory.length = 0;
      }
      if (now >= nextSample) {
        memory.push({ at: now, mib: residentMiB(server) });
        nextSample = now + Math.min(1000, milliseconds / 20);
      }
      for (; sent < ((now - begin) / 1000) * rate && waiting.size < MOST_WAITING; sent++) {
        const running = one(begin + (sent / rate) * 1000, client).finally(() => waiting.delete(running));
        waiting.add(running);
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await Promise.all(waiting);
    await verifier.readAll(client);
    const settled = memory.slice(Math.floor(memory.length / 2));
    return {
      wrong: verifier.wrong,
      requests,
      broken,
      orders: verifier.placed,
      limit: Math.round(limit),
      rate: Math.round(rate),
      latencies: Object.fromEntries([...latencies].map(([kind, list]) => [kind, percentiles(list)])),
      memory: { mib: Math.round(settled.at(-1)?.mib ?? 0), mibPerMinute: slope(settled), samples: settled.length },
    };
  } finally {
    client.close();
    await server.end('SIGTERM');
  }
}

function start(path: string): Promise<SpawnedServer> {
  return spawnServer(['--db', path, '--max-open-orders', 'off']);
}

/** Measures the requests per second with continuous concurrent clients. */
async function measureLimit(milliseconds: number, send: () => Promise<void>): Promise<number> {
  const begin = performance.now();
  let done = 0;
  const live = async () => {
    for (; performance.now() < begin + milliseconds; done++) await send();
  };
  await Promise.all(Array.from({ length: CLIENTS }, live));
  return (done * 1000) / (performance.now() - begin);
}

function residentMiB({ process: { pid } }: SpawnedServer): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** Returns the slope per minute by least squares. */
function slope(samples: readonly { readonly at: number; readonly mib: number }[]): number {
  const mean = (list: readonly number[]) => list.reduce((sum, each) => sum + each, 0) / list.length;
  const [x, y] = [mean(samples.map(({ at }) => at)), mean(samples.map(({ mib }) => mib))];
  const over = samples.reduce((sum, { at, mib }) => sum + (at - x) * (mib - y), 0);
  const under = samples.reduce((sum, { at }) => sum + (at - x) ** 2, 0);
  return under === 0 ? 0 : Math.round((over / under) * 60_000 * 100) / 100;
}

function percentiles(list: number[]) {
  list.sort((a, b) => a - b);
  const at = (share: number) =>
    Math.round((list[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}
