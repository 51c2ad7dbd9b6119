// `npm run bench [-- trial…] [--orders 10M] [--no-write]`: runs trials, prints what they show, and writes it
// into bench/results.json, the README and its chart.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Scale } from './benchmark.ts';
import { loadTrial, trialNames } from './benchmarks.ts';
import { machine } from './machine.ts';
import { progress } from './progress.ts';
import type { Report } from './report.ts';
import { consoleTable, resultOf, withResult, writeReport } from './report.ts';
import { race } from './runner.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    orders: { type: 'string', multiple: true },
    // For the test: at a size that shows only that it works, and in one process.
    tiny: { type: 'boolean', default: false },
    together: { type: 'boolean', default: false },
    json: { type: 'string' },
    'no-write': { type: 'boolean', default: false },
  },
});

const trials = trialNames();
const unknown = positionals.filter((name) => !trials.includes(name));
if (unknown.length > 0) {
  console.error(`there is no trial ${unknown.join(', ')}; there are ${trials.join(', ')}`);
  process.exit(2);
}

const scale: Scale = {
  tiny: values.tiny,
  orders: values.orders?.map(parseCount) ?? (values.tiny ? [100, 200, 300] : [10_000, 100_000, 1_000_000]),
};
const chosen = positionals.length === 0 ? trials : positionals;
const show = progress(chosen.length);
/** The package itself, two folders up from where this file is built to. */
const root = new URL('../../', import.meta.url);
const kept = new URL('bench/results.json', root);

let report: Report = values.tiny ? {} : (JSON.parse(readFileSync(kept, 'utf8')) as Report); // as it was written below
for (const [i, name] of chosen.entries()) {
  const trial = await loadTrial(name, scale);
  const outcome = await race(name, trial, scale, {
    together: values.together,
    tick: (done, all) => show(name, i, done, all),
  });
  const result = resultOf(trial, outcome, machine());
  console.log(consoleTable(name, result));
  report = withResult(report, name, result);
  if (!values.tiny && !values['no-write']) writeReport(root, kept, report);
}
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(report));

/** `10M`, `100k`, `500`. */
function parseCount(text: string): number {
  const [, digits, unit] = /^(\d+)([kM]?)$/.exec(text) ?? [];
  if (digits === undefined) throw new TypeError(`--orders must be a number such as 100k or 10M, not ${text}`);
  return Number(digits) * (unit === 'M' ? 1_000_000 : unit === 'k' ? 1000 : 1);
}
