// `npm run test:long -- --minutes 60` runs the suites of `suites/` one after the other, each with an equal share of the
// time.
//
// `--suite a,b` selects suites, and `--seed 7` sets the seed. Counts are summed over runs in `.long/sums.json`. A suite
// stores its corpus in `.long/<suite>`. `suite.ts` describes how to add a suite.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = fileURLToPath(new URL('.', import.meta.url));
const kept = join(here, '../../../.long');
const sums = join(kept, 'sums.json');
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, suite: { type: 'string' }, seed: { type: 'string' } },
});

const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error(`--minutes must be a number above 0, not ${values.minutes}`);
const all = readdirSync(join(here, 'suites')).map((file) => file.replace(/\.ts$/, ''));
const names = values.suite === undefined ? all.sort() : values.suite.split(',');
const unknown = names.find((name) => !all.includes(name));
if (unknown !== undefined) throw new Error(`there is no suite ${unknown}; there are ${all.join(', ')}`);

/** `{ [suite]: { runs, minutes, counts, notes, findings: [{ seed, at }] } }` */
const readSums = () => {
  try {
    return JSON.parse(readFileSync(sums, 'utf8'));
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return {};
  }
};

function run(command, args, { env = {}, limit = 0 } = {}) {
  return new Promise((resolve) => {
    // `npm run` adds the package binaries to the path. The suite has its own process group, which is killed as a whole.
    const child = spawn(command, args, { env: { ...process.env, ...env }, detached: true });
    const end = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The process has exited.
      }
    };
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const late = limit > 0 ? setTimeout(end, limit) : undefined;
    process.once('exit', end);
    child.on('error', (error) => resolve({ ok: false, output: String(error) }));
    child.on('close', (code, signal) => {
      clearTimeout(late);
      process.off('exit', end);
      resolve({ ok: code === 0, output: signal === null ? output : `${output}\nit was ended by ${signal}` });
    });
  });
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const build = await run('tsup', ['--silent', '--no-dts']);
if (!build.ok) {
  console.log(build.output);
  process.exit(1);
}

mkdirSync(kept, { recursive: true });
const reports = mkdtempSync(join(tmpdir(), 'intentbook-long-'));
const report = join(reports, 'report.json');
const end = Date.now() + minutes * 60_000;
const table = (figures) =>
  Object.entries(figures)
    .map(([what, figure]) => `${what} ${typeof figure === 'number' ? figure.toLocaleString('en') : figure}`)
    .join(', ');
let failed = 0;

for (const [i, name] of names.entries()) {
  const before = readSums()[name];
  const share = Math.max(1000, (end - Date.now()) / (names.length - i));
  const seed = Number(values.seed ?? before?.findings?.[0]?.seed ?? Math.floor(Math.random() * 2 ** 31));
  rmSync(report, { force: true });
  const since = Date.now();
  const { ok, output } = await run('vitest', ['run', '--config', join(here, 'vitest.config.ts')], {
    env: {
      TEST_LONG_SUITE: name,
      TEST_LONG_SEED: String(seed),
      TEST_LONG_MILLISECONDS: String(Math.floor(share)),
      TEST_LONG_FOLDER: join(kept, name),
      TEST_LONG_REPORT: report,
    },
    // Setup and teardown time are not counted.
    limit: share * 1.5 + 300_000,
  });
  let result = { counts: {}, notes: {} };
  try {
    result = JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    // The suite did not report; its output has the reason.
  }
  const took = (Date.now() - since) / 60_000;
  // The file is read again, because several runs can share a machine.
  const known = readSums();
  const sum = known[name] ?? { runs: 0, minutes: 0, counts: {}, notes: {}, findings: [] };
  sum.runs++;
  sum.minutes = Math.round((sum.minutes + took) * 100) / 100;
  for (const [what, by] of Object.entries(result.counts)) sum.counts[what] = (sum.counts[what] ?? 0) + by;
  Object.assign(sum.notes, result.notes);
  const findings = sum.findings.filter((finding) => finding.seed !== seed);
  sum.findings = ok ? findings : [{ seed, at: new Date().toISOString() }, ...findings];
  known[name] = sum;
  writeFileSync(sums, `${JSON.stringify(known, null, 2)}\n`);

  if (!ok) {
    failed++;
    console.log(output.trimEnd());
    console.log(`  again: npm run test:long -- --suite ${name} --seed ${seed} --minutes ${Math.ceil(took)}`);
  }
  const figures = table({ ...result.counts, ...result.notes });
  console.log(`${ok ? '✓' : '✗'} ${name} (${took.toFixed(1)} min, seed ${seed}): ${figures}`);
}

rmSync(reports, { recursive: true });
console.log('\nin all runs:');
for (const [name, sum] of Object.entries(readSums()).sort(([a], [b]) => (a < b ? -1 : 1))) {
  const open = sum.findings.length === 0 ? '' : `, ${sum.findings.length} findings not mended`;
  console.log(`  ${name}: ${sum.runs} runs, ${sum.minutes} min, ${table(sum.counts)}${open}`);
}
console.log(`long: ${names.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
