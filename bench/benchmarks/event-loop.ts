import { monitorEventLoopDelay } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { createOrderBook, createVerifier } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import type { CreateBenchmark, Measure, Sample, Subject } from '../benchmark.ts';
import { readMeasured } from '../benchmark.ts';
import { createBodyCheck } from '../checks.ts';
import { scratchFile } from '../files.ts';
import { collectGarbage } from '../gc.ts';
import { CHAIN_ID, DOMAIN, signOrders } from '../orders.ts';
import { createByUidsRequest, createUidPicker, openApi, requestBytes } from '../stats.ts';

const LOADS = ['submit, 256 concurrent', 'by_uids of 128, 16 concurrent', 'recoverMany of 10,000'] as const;

/** Why the longest step of a load is above the bar. */
const REASONS: Record<(typeof LOADS)[number], string> = {
  'submit, 256 concurrent':
    'One group of 64 orders is checked and inserted in one step. With a write thread, inserts leave it.',
  'by_uids of 128, 16 concurrent':
    'One SELECT reads 128 orders at random places of a file with a million in one step. See its time in by-uids.',
  'recoverMany of 10,000': 'A group of orders is recovered in one step.',
};

/**
 * Blocking of the event loop. The main figure is the longest interval between two iterations of the loop, in processor
 * time without commits: the time of commits depends on the disk. Wall-clock time would also contain the time of other
 * programs.
 */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const subjects: Record<(typeof LOADS)[number], () => Promise<Subject>> = {
    'submit, 256 concurrent': async () => {
      const count = tiny ? 32 : 2048;
      const store = sqliteStore({ path: scratchFile('event-loop') });
      const book = createOrderBook({ chainId: CHAIN_ID, recovery: 'native', store });
      await book.start();
      let first = 0;
      return {
        async round() {
          const queue = await signOrders('event loop', first, count);
          first += count;
          const caller = async () => {
            for (let signed = queue.pop(); signed !== undefined; signed = queue.pop()) {
              const { status } = await book.orders.submit(signed.order);
              if (status !== 'accepted') throw new Error('an order was rejected');
            }
          };
          return measureBlocking(count, () => Promise.all(Array.from({ length: 256 }, caller)));
        },
        close: () => book.close(),
      };
    },
    'by_uids of 128, 16 concurrent': async () => {
      const count = orders.at(-1) ?? 0;
      const { api, close } = await openApi(count, 'cold', 0);
      const pick = createUidPicker(count, 128);
      const perCaller = tiny ? 1 : 6;
      const uids = pick();
      const body = await requestBytes(api, createByUidsRequest(uids));
      createBodyCheck()(body, uids);
      return {
        async round() {
          const lengths = new Set<number>();
          const queue = Array.from({ length: 16 * perCaller }, () => createByUidsRequest(pick()));
          const caller = async () => {
            for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
              lengths.add((await requestBytes(api, next)).length);
            }
          };
          const sample = await measureBlocking(16 * perCaller, () => Promise.all(Array.from({ length: 16 }, caller)));
          if (lengths.size !== 1 || !lengths.has(body.length)) throw new Error('a response lacks orders');
          return sample;
        },
        close,
      };
    },
    'recoverMany of 10,000': async () => {
      const count = tiny ? 100 : 10_000;
      const signed = await signOrders('event loop', 0, count);
      const orders = signed.map(({ hashed }) => hashed);
      const verifier = await createVerifier({ ...DOMAIN, backend: 'native' });
      return {
        round: () =>
          measureBlocking(count, async () => {
            const results = await verifier.recoverMany(orders);
            if (results.some(({ signer }, i) => signer !== signed[i]?.owner))
              throw new Error('an order was not recovered');
          }),
      };
    },
  };

  return {
    title: 'blocking of the event loop',
    subjects,
    rounds: 5,
    measures: LOADS.flatMap((load): Measure[] => [
      {
        title: `${load}: longest blocking by the engine`,
        compute: readMeasured(load, 'blocking'),
        unit: ' ms',
        target: { atMost: 6 },
        reason: REASONS[load],
      },
      { title: `${load}: event loop delay, 99th percentile`, unit: ' ms', compute: readMeasured(load, 'p99') },
      { title: `${load}: longest commit, including checkpoint`, unit: ' ms', compute: readMeasured(load, 'commit') },
    ]),
  };
};

/** Processor time of commits, which the driver runs synchronously, in milliseconds. */
let commitProcessorTime = 0;
/** Wall-clock time of commits, in milliseconds. */
let commitTime = 0;
let longestCommit = 0;
const { exec } = Database.prototype;
Database.prototype.exec = function (sql) {
  if (sql !== 'COMMIT') return exec.call(this, sql);
  const [start, startProcessor] = [performance.now(), processorTime()];
  const result = exec.call(this, sql);
  commitProcessorTime += processorTime() - startProcessor;
  commitTime += performance.now() - start;
  longestCommit = Math.max(longestCommit, performance.now() - start);
  return result;
};

function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Runs a load and measures the interval between the iterations of the event loop. */
async function measureBlocking(operations: number, work: () => Promise<unknown>): Promise<Sample> {
  collectGarbage();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let running = true;
  let blocking = 0;
  longestCommit = 0;
  let last = { cpu: processorTime(), wall: performance.now(), commitCpu: commitProcessorTime, commitWall: commitTime };
  const check = () => {
    const now = {
      cpu: processorTime(),
      wall: performance.now(),
      commitCpu: commitProcessorTime,
      commitWall: commitTime,
    };
    // Processor time includes all threads, also of the garbage collector. Wall-clock time includes other programs.
    const cpu = now.cpu - last.cpu - (now.commitCpu - last.commitCpu);
    const wall = now.wall - last.wall - (now.commitWall - last.commitWall);
    blocking = Math.max(blocking, Math.min(cpu, wall));
    last = now;
    if (running) setImmediate(check);
  };
  setImmediate(check);
  delay.enable();
  const start = performance.now();
  await work();
  const time = ((performance.now() - start) * 1000) / operations;
  delay.disable();
  running = false;
  check();
  const at = (percent: number) => delay.percentile(percent) / 1e6;
  return { time, blocking, commit: longestCommit, p50: at(50), p99: at(99), longest: delay.max / 1e6 };
}
