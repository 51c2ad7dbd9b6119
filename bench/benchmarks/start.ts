import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { MakeTrial, Subject } from '../benchmark.ts';
import { timed, times, told } from '../benchmark.ts';
import { orderFile, scratchFile } from '../files.ts';
import type { Load } from '../load.ts';
import { uidPicker } from '../stats.ts';

/** How long the standalone server takes to start, and what memory it takes once it has been read from. */
export const trial: MakeTrial = ({ tiny, orders }) => {
  const count = orders.at(-1) ?? 0;
  const reads = tiny ? 100 : 100_000;

  const starting = (file: () => Promise<string>) => async (): Promise<Subject> => {
    const path = await file();
    await (await startServer(path)).end(); // the first start of a file makes its tables
    return {
      async round() {
        let server: Server | undefined;
        const sample = await timed(1, async () => {
          server = await startServer(path);
        });
        await server?.end();
        return sample;
      },
    };
  };

  return {
    title: `the standalone server on a file of ${count} orders`,
    rounds: 9,
    subjects: {
      'start, empty': starting(async () => scratchFile('start')),
      [`start, ${count} orders`]: starting(() => orderFile(count, 'start')),
      [`after ${reads} reads`]: async () => {
        const server = await startServer(await orderFile(count, 'cold'));
        const worker = new Worker(new URL('../load.js', import.meta.url));
        const pick = uidPicker(count, Math.min(1000, count));
        const read = async (asked: number) => {
          const requests = pick().map((uid) => `GET /api/v1/orders/${uid} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
          worker.postMessage({ port: server.port, requests, connections: 8, count: asked } satisfies Load);
          const [ms] = (await once(worker, 'message')) as [number | string]; // see load.ts
          if (typeof ms === 'string') throw new Error(ms);
        };
        for (let done = 0; done < reads; done += 1000) await read(Math.min(1000, reads));
        const few = Math.min(1000, reads);
        return {
          async round() {
            const sample = await timed(few, () => read(few));
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
        title: `start on ${count} orders ÷ start on an empty file`,
        of: times(`start, ${count} orders`, 'start, empty'),
        bar: { atMost: 1.5 },
      },
      {
        title: `resident memory after ${reads} reads`,
        of: told(`after ${reads} reads`, 'MB'),
        bar: { atMost: 300 },
        unit: ' MB',
      },
    ],
  };
};

interface Server {
  readonly port: number;
  /** Resident memory, in bytes. */
  memory(): number;
  end(): Promise<void>;
}

const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** Starts the command, as it is published, and waits until it says where it listens. */
async function startServer(path: string): Promise<Server> {
  const args = [CLI, 'serve', '--port', '0', '--db', path, '--rate-limit', 'off'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = once(child, 'exit');
  let said = '';
  const port = await new Promise<number>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      said += chunk;
      const [, found] = /address +http:\S+:(\d+)/.exec(said) ?? [];
      if (found !== undefined) resolve(Number(found));
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    gone.then(
      () => reject(new Error(`the server ended before it was ready: ${said}`)),
      () => {},
    );
  });
  return {
    port,
    memory: () => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })) * 1024,
    async end() {
      child.kill('SIGTERM');
      await gone;
    },
  };
}
