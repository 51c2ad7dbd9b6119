// `npm test` runs every check of a change in sequence and prints one summary.
//
// `npm test -- --long` runs each loop at its full length. `npm run test:long` is in `resilience/long/run.mjs`.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
  { name: 'attw', command: ['attw', '--pack', '.', '--profile', 'esm-only', '--format', 'ascii'] },
  { name: 'knip', command: ['knip'] },
];

function run([command, ...args], loud) {
  return new Promise((resolve) => {
    // `npm test` adds the package binaries to the path.
    const child = spawn(command, args, { stdio: ['ignore', loud ? 'inherit' : 'pipe', loud ? 'inherit' : 'pipe'] });
    let output = '';
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => resolve({ ok: false, output: String(error) }));
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}

/** Counts the reported tests and lists the skipped ones. */
function countTests() {
  const { numPassedTests, numFailedTests, numFailedTestSuites, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const skipped = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'skipped' || status === 'pending' || status === 'todo'),
  );
  for (const { fullName, meta } of skipped) {
    console.log(`  skipped: ${fullName.trim()}${meta?.skipped === undefined ? '' : ` (${meta.skipped})`}`);
  }
  // A file that failed to load has no failed test.
  return { passed: numPassedTests, failed: numFailedTests === 0 ? numFailedTestSuites : numFailedTests };
}

if (process.argv.includes('--long')) process.env.INTENTBOOK_TEST_LONG = '1';

let passed = 0;
let failed = 0;
for (const { name, command, essential = false, loud = false } of STEPS) {
  const start = performance.now();
  const { ok, output } = await run(command, loud);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (!ok) console.log(output.trimEnd());
  console.log(`${ok ? '✓' : '✗'} ${name} (${seconds} s)`);
  if (name === 'tests') {
    const counts = countTests();
    passed += counts.passed;
    failed += counts.failed;
    if (!ok && counts.failed === 0) failed++;
  } else if (ok) passed++;
  else failed++;
  if (!ok && essential) break;
}

rmSync(reports, { recursive: true });
console.log(`tests: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
