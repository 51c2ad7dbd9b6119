// `npm test` runs every check of a change in sequence and prints one summary.
//
// `npm test -- --slow` adds the files that `vitest.config.ts` names as slow. `npm run test:all` runs the files
// `*.matrix.test.ts`, which have the volume: enumerations, versions, hosts and benchmarks. `npm test -- --long` runs
// each loop at its full length. `npm run test:long` is in `resilience/long/run.mjs`.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const reports = mkdtempSync(join(tmpdir(), 'intentbook-tests-'));
const report = join(reports, 'vitest.json');

/** The first three steps are required by the others, which all run independently. */
const STEPS = [
  { name: 'lint', command: ['biome', 'ci', '--colors=off', '--error-on-warnings', '.'], essential: true },
  { name: 'types', command: ['tsc'], essential: true },
  { name: 'build', command: ['tsup', '--silent'], essential: true },
  {
    name: 'tests',
    command: [
      'vitest',
      'run',
      '--config',
      'test/vitest.config.ts',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    loud: true,
  },
  { name: 'publint', command: ['publint', '--strict'] },
  {
    name: 'attw',
    command: ['attw', '--pack', '.', '--profile', 'esm-only', '--format', 'ascii'],
    env: { npm_config_ignore_scripts: 'true' }, // the package is built
    slow: true,
  },
  { name: 'knip', command: ['knip'] },
];

/** The steps of `npm run test:all`, after `npm test`. */
const MATRIX_STEPS = ['build', 'tests'];

function run([command, ...args], loud, env) {
  return new Promise((resolve) => {
    // `npm test` adds the package binaries to the path.
    const output = loud ? 'inherit' : 'pipe';
    const child = spawn(command, args, { stdio: ['ignore', output, output], env: { ...process.env, ...env } });
    let text = '';
    child.stdout?.on('data', (chunk) => (text += chunk));
    child.stderr?.on('data', (chunk) => (text += chunk));
    child.on('error', (error) => resolve({ ok: false, output: String(error) }));
    child.on('close', (code) => resolve({ ok: code === 0, output: text }));
  });
}

/** Prints the skipped tests in one line for each suite and reason. */
function printSkipped(files) {
  const groups = new Map();
  for (const { assertionResults } of files) {
    for (const { status, fullName, ancestorTitles, meta } of assertionResults) {
      if (status !== 'skipped' && status !== 'pending' && status !== 'todo') continue;
      const reason = meta?.skipped === undefined ? '' : ` (${meta.skipped})`;
      const key = `${ancestorTitles[0] ?? fullName}${reason}`;
      groups.set(key, [...(groups.get(key) ?? []), `${fullName.trim()}${reason}`]);
    }
  }
  for (const [key, names] of groups) {
    console.log(`  skipped: ${names.length === 1 ? names[0] : `${key}: ${names.length} tests`}`);
  }
}

/** The lines of a message that are printed of a failed test. */
const MESSAGE_LINES = 20;

/** The failed tests and the files that failed to load, each with its message. */
function describeFailures(files) {
  return files.flatMap(({ name, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const failures = assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => ({ title: fullName.trim(), text: failureMessages.join('\n') }));
    if (failures.length === 0 && message) failures.push({ title: 'does not load', text: message });
    return failures.map(({ title, text }) => {
      const lines = text.split('\n').slice(0, MESSAGE_LINES);
      return [`  failed: ${file}: ${title}`, ...lines.map((line) => `    ${line}`)].join('\n');
    });
  });
}

/** Counts the reported tests, prints the skipped ones and returns descriptions of the failed ones. */
function readReport() {
  const { numPassedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  printSkipped(testResults);
  return { passed: numPassedTests, failures: describeFailures(testResults) };
}

if (process.argv.includes('--long')) process.env.TEST_LONG = '1';
const isMatrix = process.argv.includes('--matrix');
if (isMatrix) process.env.TEST_MATRIX = '1';
const isQuick = !isMatrix && !process.argv.some((argument) => argument === '--slow' || argument === '--long');
if (isQuick) process.env.TEST_QUICK = '1';

let passed = 0;
let failed = 0;
const failures = [];
for (const { name, command, env, essential = false, loud = false, slow = false } of STEPS) {
  if ((isMatrix && !MATRIX_STEPS.includes(name)) || (isQuick && slow)) continue;
  const start = performance.now();
  const { ok, output } = await run(command, loud, env);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (!ok) console.log(output.trimEnd());
  console.log(`${ok ? '✓' : '✗'} ${name} (${seconds} s)`);
  if (name === 'tests') {
    const counts = readReport();
    passed += counts.passed;
    failed += counts.failures.length;
    failures.push(...counts.failures);
    if (!ok && counts.failures.length === 0) failed++;
  } else if (ok) passed++;
  else failed++;
  if (!ok && essential) break;
}

rmSync(reports, { recursive: true });
// The end of the output names each failed test: some systems keep only the end.
for (const failure of failures) console.log(failure);
console.log(`tests: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
