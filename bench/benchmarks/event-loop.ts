import { monitorEventLoopDelay } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { createOrderBook, createVerifier } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import type { MakeTrial, Measure, Sample, Subject } from '../benchmark.ts';
import { told } from '../benchmark.ts';
import { scratchFile } from '../files.ts';
import { collectGarbage } from '../gc.ts';
import { CHAIN_ID, DOMAIN, signOrders } from '../orders.ts';
import { answerOf, byUidsRequest, openApi, uidPicker } from '../stats.ts';

const LOADS = ['submit, 256 at once', 'by_uids of 128, 16 at once', 'recoverMany of 10,000'] as const;

/**
 * How long the event loop is held up. The figure that counts is the longest stretch between two of its turns, by the
 * processor's time, of which commits are told apart: how long those take is the disk's business. By the wall's time a
 * stretch also holds what other programs have taken in the middle of it.
 */
export const trial: MakeTrial = ({ tiny, orders }) => {
  const subjects: Record<(typeof LOADS)[number], () => Promise<Subject>> = {
    'submit, 256 at once': async () => {
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
          return watched(count, () => Promise.all(Array.from({ length: 256 }, caller)));
        },
        close: () => book.close(),
      };
    },
    'by_uids of 128, 16 at once': async () => {
      const count = orders.at(-1) ?? 0;
      const { api, close } = await openApi(count, 'cold', 0);
      const pick = uidPicker(count, 128);
      const each = tiny ? 1 : 6;
      return {
        round() {
          const queue = Array.from({ length: 16 * each }, () => byUidsRequest(pick()));
          const caller = async () => {
            for (let next = queue.pop(); next !== undefined; next = queue.pop()) await answerOf(api, next);
          };
          return watched(16 * each, () => Promise.all(Array.from({ length: 16 }, caller)));
        },
        close,
      };
    },
    'recoverMany of 10,000': async () => {
      const count = tiny ? 100 : 10_000;
      const signed = (await signOrders('event loop', 0, count)).map(({ hashed }) => hashed);
      const verifier = await createVerifier({ ...DOMAIN, backend: 'native' });
      return { round: () => watched(count, () => verifier.recoverMany(signed)) };
    },
  };

  return {
    title: 'how long the event loop is held up',
    subjects,
    rounds: 5,
    measures: LOADS.flatMap((load): Measure[] => [
      {
        title: `${load}: longest stretch of the engine`,
        of: told(load, 'stretch'),
        unit: ' ms',
        bar: { atMost: 10 },
      },
      { title: `${load}: loop delay, 99 % of the time below`, unit: ' ms', of: told(load, 'p99') },
      { title: `${load}: longest commit, checkpoint included`, unit: ' ms', of: told(load, 'commit') },
    ]),
  };
};

/** Time spent in commits, which the driver does in the middle of whatever runs. In milliseconds of the processor. */
let committing = 0;
/** The same by the clock. */
let waiting = 0;
let longestCommit = 0;
const { exec } = Database.prototype;
Database.prototype.exec = function (sql) {
  if (sql !== 'COMMIT') return exec.call(this, sql);
  const [start, spent] = [performance.now(), processorTime()];
  const result = exec.call(this, sql);
  committing += processorTime() - spent;
  waiting += performance.now() - start;
  longestCommit = Math.max(longestCommit, performance.now() - start);
  return result;
};

function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Runs a load, and looks at the clock at each turn of the loop meanwhile. */
async function watched(operations: number, work: () => Promise<unknown>): Promise<Sample> {
  collectGarbage();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let running = true;
  let stretch = 0;
  longestCommit = 0;
  let [before, since, committed, waited] = [processorTime(), performance.now(), committing, waiting];
  const look = () => {
    const [now, at] = [processorTime(), performance.now()];
    // The processor's time is that of all threads, collectors of garbage too; the clock's that of other programs too.
    stretch = Math.max(stretch, Math.min(now - before - (committing - committed), at - since - (waiting - waited)));
    [before, since, committed, waited] = [now, at, committing, waiting];
    if (running) setImmediate(look);
  };
  setImmediate(look);
  delay.enable();
  const start = performance.now();
  await work();
  const time = ((performance.now() - start) * 1000) / operations;
  delay.disable();
  running = false;
  look();
  const at = (percent: number) => delay.percentile(percent) / 1e6;
  return { time, stretch, commit: longestCommit, p50: at(50), p99: at(99), longest: delay.max / 1e6 };
}
