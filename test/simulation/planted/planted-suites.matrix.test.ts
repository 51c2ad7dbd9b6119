import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { SUITE_FAULTS } from './planted-suites.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

interface Report {
  readonly numFailedTests: number;
  readonly numPassedTests: number;
}

// A suite with a syntax error would fail as well, so some of its tests must pass.
it.each(SUITE_FAULTS)('$suite finds that $name', ({ name, suite }) => {
  const { TEST_MATRIX: _, ...env } = process.env;
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--reporter=json', suite];
  const options = { cwd: ROOT, encoding: 'utf8', env: { ...env, TEST_PLANTED_FAULT: name } } as const;
  const { stdout } = spawnSync(process.execPath, args, options);
  const { numFailedTests, numPassedTests }: Report = JSON.parse(stdout.slice(stdout.indexOf('{"numTotal')));
  expect([numFailedTests > 0, numPassedTests > 0]).toEqual([true, true]);
});
