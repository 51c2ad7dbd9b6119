import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Hex } from 'intentbook';
import type { CreateBenchmark, Subject } from '../benchmark.ts';
import { divideTimes, measureTime, readMeasured } from '../benchmark.ts';
import { createBodyCheck, expectCount } from '../checks.ts';
import { getUid, orderFile, scratchFile } from '../files.ts';
import type { Load } from '../load.ts';
import { createUidPicker } from '../stats.ts';

/** Start time of the standalone server, and its memory after reads. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const count = orders.at(-1) ?? 0;
  const reads = tiny ? 100 : 100_000;

  /** Creates a subject. @param newest - The first of the listed orders, or none. */
  const startOn = (getFile: () => Promise<string>, newest: readonly Hex[]) => async (): Promise<Subject> => {
    const path = await getFile();
    await (await startServer(path)).end(); // the first start creates the tables
    return {
      async round() {
        const servers: Server[] = [];
        const sample = await measureTime(1, () => startServer(path), { check: (server) => void servers.push(server) });
        for (const server of servers) {
          await readOrders(server, 'orders?limit=1', newest);
          await server.end();
        }
        return sample;
      },
    };
  };

  return {
    title: `standalone server with a file of ${count} orders`,
    rounds: 9,
    subjects: {
      'start, empty': startOn(async () => scratchFile('start'), []),
      [`start, ${count} orders`]: startOn(() => orderFile(count, 'start'), [getUid(count - 1)]),
      [`after ${reads} reads`]: async () => {
        const server = await startServer(await orderFile(count, 'cold'));
        const worker = new Worker(new URL('../load.js', import.meta.url));
        const pick = createUidPicker(count, Math.min(1000, count));
        const newest = getUid(count - 1);
        const { length } = await readOrders(server, `orders/${newest}`, [newest]);
        const read = async (number: number) => {
          const requests = pick().map((uid) => `GET /api/v1/orders/${uid} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
          worker.postMessage({ port: server.port, requests, connections: 8, count: number, length } satisfies Load);
          const [ms] = (await once(worker, 'message')) as [number | string]; // see load.ts
          if (typeof ms === 'string') throw new Error(ms); // another status or length, for example
          return number;
        };
        for (let done = 0; done < reads; done += 1000) await read(Math.min(1000, reads));
        const perRound = Math.min(1000, reads);
        return {
          async round() {
            const sample = await measureTime(perRound, () => read(perRound), { check: expectCount(perRound) });
            return { ...sample, MB: server.memory() / 1e6 };
          },
          async close() {
            await worker.terminate();
            await server.end();
          },
        };
      },
    },
    measures: [
      {
        title: `start with ${count} orders ÷ start with an empty file`,
        compute: divideTimes(`start, ${count} orders`, 'start, empty'),
        target: { atMost: 1.5 },
      },
      {
        title: `resident memory after ${reads} reads`,
        compute: readMeasured(`after ${reads} reads`, 'MB'),
        target: { atMost: 300 },
        unit: ' MB',
      },
    ],
  };
};

/** Requests orders from a server, checks them and returns the body. */
async function readOrders({ port }: Server, path: string, uids: readonly Hex[]): Promise<Uint8Array> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
  if (response.status !== 200) throw new Error(`the response has status ${response.status}`);
  const body = new Uint8Array(await response.arrayBuffer());
  createBodyCheck()(body, uids);
  return body;
}

interface Server {
  readonly port: number;
  /** Resident memory, in bytes. */
  memory(): number;
  end(): Promise<void>;
}

const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** Starts the published command and waits until it prints its address. */
async function startServer(path: string): Promise<Server> {
  const accounts = scratchFile(`accounts-${basename(path)}`);
  const args = [CLI, 'serve', '--port', '0', '--db', path, '--accounts', accounts, '--rate-limit', 'off'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  let output = '';
  const port = await new Promise<number>((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      output += chunk;
      const [, found] = /address +http:\S+:(\d+)/.exec(output) ?? [];
      if (found !== undefined) resolve(Number(found));
    };
    child.stdout.on('data', onData);
    child.stderr.on('data', onData);
    exited.then(
      () => reject(new Error(`the server ended before it was ready: ${output}`)),
      () => {},
    );
  });
  return {
    port,
    memory: () => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })) * 1024,
    async end() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
