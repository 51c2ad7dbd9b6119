// `npm run bench [-- benchmark…] [--orders 10M] [--no-write]`: runs benchmarks, prints the results and writes them to
// bench/results.json, the README, the page of benchmarks and the chart. `npm run bench -- --render` writes the pages
// from the results without a run.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Scale } from './benchmark.ts';
import { listBenchmarks, loadBenchmark } from './benchmarks.ts';
import { describeMachine, measureActivity } from './machine.ts';
import { showProgress } from './progress.ts';
import type { Report } from './report.ts';
import { addResult, formatResult, toResult, writeReport } from './report.ts';
import { runBenchmark } from './runner.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    orders: { type: 'string', multiple: true },
    // For tests: minimal size, and all subjects in one process.
    tiny: { type: 'boolean', default: false },
    together: { type: 'boolean', default: false },
    json: { type: 'string' },
    'no-write': { type: 'boolean', default: false },
    render: { type: 'boolean', default: false },
  },
});

const benchmarks = listBenchmarks();
const unknown = positionals.filter((name) => !benchmarks.includes(name));
if (unknown.length > 0) {
  console.error(`unknown benchmark ${unknown.join(', ')}; available: ${benchmarks.join(', ')}`);
  process.exit(2);
}

const scale: Scale = {
  tiny: values.tiny,
  orders: values.orders?.map(parseCount) ?? (values.tiny ? [100, 200, 300] : [10_000, 100_000, 1_000_000]),
};
const all = values.render ? [] : benchmarks;
const chosen = positionals.length === 0 ? all : positionals;
const show = showProgress(chosen.length);
/** Root folder of the package, two folders above the built file. */
const root = new URL('../../', import.meta.url);
const results = new URL('bench/results.json', root);

// The file is written by `writeReport` below.
let report: Report = values.tiny ? {} : (JSON.parse(readFileSync(results, 'utf8')) as Report);
for (const [i, name] of chosen.entries()) {
  const benchmark = await loadBenchmark(name, scale);
  const busy = values.tiny ? undefined : await measureActivity();
  if (busy !== undefined) {
    console.error(`the machine is not quiet: ${busy} % of its processor time is used; results of ${name} are marked`);
  }
  const run = await runBenchmark(name, benchmark, scale, {
    together: values.together,
    tick: (done, all) => show(name, i, done, all),
  });
  const result = toResult(benchmark, run, describeMachine(), busy);
  console.log(formatResult(name, result));
  report = addResult(report, name, result);
  if (!values.tiny && !values['no-write']) writeReport(root, results, report);
}
if (values.render) writeReport(root, results, report);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(report));

/** Parses a count: `10M`, `100k`, `500`. */
function parseCount(text: string): number {
  const [, digits, unit] = /^(\d+)([kM]?)$/.exec(text) ?? [];
  if (digits === undefined) throw new TypeError(`--orders must be a number such as 100k or 10M, got "${text}"`);
  return Number(digits) * (unit === 'M' ? 1_000_000 : unit === 'k' ? 1000 : 1);
}
