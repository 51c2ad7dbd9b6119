// `npm run simulate` runs seeds of the simulator on all cores:
//
//   npm run simulate -- --seeds 1000 --store shared
//   npm run simulate -- --seed 42 --trace
//
// `--only 1,4-9` runs these actions of a plan, `--short` a quarter of the usual actions, and `--hashes` shows the hash
// of each trace. A failure prints the command that replays it, with few actions. INTENTBOOK_WRITE=1 adds the run to the
// table of docs/internals/testing.md.
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { writeRun } from './seed-table.mjs';

const { shrink, simulate } = await import('./built/index.js');

/** Sums of results. */
const COUNTED = ['operations', 'faults', 'affectedCalls', 'forks', 'commits'];

/** A simulation allocates much that is used for a short time only. */
const resourceLimits = { maxYoungGenerationSizeMb: 128 };

/** The scenario of `--short`. */
const SHORT = { operations: 50, faults: 6, forks: 2, blocks: 8, waits: 0, funds: 2, bursts: 1 };

if (isMainThread) await main();
else {
  await work(workerData);
  process.exit(); // ends this thread; PGlite leaves a timer of its statement timeout, which runs for ten seconds
}

async function main() {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '100' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      store: { type: 'string', default: 'memory' },
      only: { type: 'string' },
      trace: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
      hashes: { type: 'boolean', default: false },
      jobs: { type: 'string', default: String(availableParallelism()) },
    },
  });
  if (values.seed !== undefined) await runOne(values);
  else await runMany(values);
}

async function runOne({ seed, store, only, trace, short }) {
  const ids = only === undefined ? {} : { only: parseIds(only) };
  const result = await simulate({ seed, store, trace, ...getScenario(short), ...ids });
  for (const line of result.lines) console.log(line);
  console.log(`seed ${seed}: ${describe(result)}`);
  if (result.violation === undefined) return;
  process.exitCode = 1;
  if (only === undefined) await printShrunk(seed, store, short);
}

function getScenario(isShort) {
  return isShort ? { scenario: SHORT } : {};
}

async function printShrunk(seed, store, short) {
  const shrunk = await shrink({ seed, store, ...getScenario(short) });
  if (shrunk === undefined) return;
  const { only, result, runs } = shrunk;
  console.log(`\n${only.length} of its actions are enough (${runs} runs):`);
  for (const { id, delay, ...action } of result.plan)
    console.log(`  ${id} after ${delay} ms: ${JSON.stringify(action)}`);
  console.log(`  ${describe(result)}`);
  console.log(
    `replay: npm run simulate -- --store ${store} --seed ${seed} --only ${formatIds(only)} --trace${short ? ' --short' : ''}`,
  );
}

async function runMany({ seeds, from, store, jobs, hashes, short }) {
  const [count, first, threads] = [Number(seeds), Number(from), Math.min(Number(jobs), Number(seeds))];
  const since = performance.now();
  const cpuBefore = process.cpuUsage();
  const sums = Object.fromEntries(COUNTED.map((name) => [name, 0]));
  const failed = [];
  let done = 0;
  let shown = 0;
  const show = () => {
    const elapsed = (performance.now() - since) / 1000;
    // All threads, with the garbage collection and the warm-up.
    const { user, system } = process.cpuUsage(cpuBefore);
    const cpu = (user + system) / 1_000_000;
    const rate = `${(done / elapsed).toFixed(1)} seeds/s, ${Math.round(sums.operations / cpu)} operations per CPU second`;
    console.log(`${store}: ${done} of ${count} seeds, ${failed.length} with a finding, ${rate}`);
  };
  await Promise.all(
    Array.from({ length: threads }, (_, index) => {
      const data = { first: first + index, step: threads, end: first + count, store, short };
      const worker = new Worker(fileURLToPath(import.meta.url), { workerData: data, resourceLimits });
      worker.on('message', (result) => {
        done++;
        for (const name of COUNTED) sums[name] += result[name];
        if (result.violation !== undefined) failed.push(result.seed);
        if (hashes || result.violation !== undefined) console.log(`seed ${result.seed}: ${describe(result)}`);
        if (performance.now() - shown < 10_000) return;
        shown = performance.now();
        show();
      });
      return new Promise((resolve, reject) => {
        worker.on('error', reject);
        worker.on('exit', resolve);
      });
    }),
  );
  show();
  console.log(COUNTED.map((name) => `${name} ${sums[name].toLocaleString('en')}`).join(', '));
  if (process.env['INTENTBOOK_WRITE'] === '1') writeRun({ store, from: first, seeds: done, findings: failed.length });
  if (failed.length === 0) return;
  process.exitCode = 1;
  await printShrunk(failed[0], store, short);
}

async function work({ first, step, end, store, short }) {
  // Rejections are errors. Their stacks take time, and the replay of a seed has them.
  Error.stackTraceLimit = 0;
  for (let seed = first; seed < end; seed += step) {
    const { lines: _, plan: __, ...result } = await simulate({ seed, store, ...getScenario(short) });
    parentPort.postMessage(result);
  }
}

function describe({ violation, hash, operations, faults, affectedCalls, forks, commits, duration }) {
  const counts = `${operations} operations, ${faults} faults, ${affectedCalls} affected calls, ${forks} forks, ${commits} commits`;
  const end = `${Math.round(duration / 1000)} s of virtual time, trace ${hash}`;
  const found = violation === undefined ? 'no finding' : `${violation.invariant}: ${violation.details}`;
  return `${found} (${counts}, ${end})`;
}

function parseIds(text) {
  return text.split(',').flatMap((part) => {
    const [from, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

function formatIds(ids) {
  const ranges = [];
  for (const id of ids) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === id - 1) last[1] = id;
    else ranges.push([id, id]);
  }
  return ranges.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join();
}
