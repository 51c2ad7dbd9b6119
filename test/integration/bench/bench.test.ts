import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chart } from '../../../bench/chart.ts';
import type { Report } from '../../../bench/report.ts';
import { withBlock } from '../../../bench/report.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'intentbook-bench-test-'));
afterAll(() => rmSync(scratch, { recursive: true }));

/** Runs it as `npm run bench` does, on the package as it is built. */
function bench(...args: string[]): Report {
  const json = join(scratch, 'report.json');
  execFileSync(process.execPath, ['bench/built/run.js', '--tiny', '--json', json, ...args], {
    cwd: root,
    stdio: 'pipe',
  });
  return JSON.parse(readFileSync(json, 'utf8')) as Report;
}

describe('every trial works', () => {
  beforeAll(() => {
    execFileSync('npx', ['tsup', '--silent', '--config', 'bench/tsup.config.ts'], { cwd: root });
  });

  test('once, at a tiny size', { timeout: 180_000 }, () => {
    const report = bench('--together');
    const files = readdirSync(join(root, 'bench/trials')).map((file) => file.replace(/\.ts$/, ''));
    expect(Object.keys(report)).toEqual(files.sort());
    for (const [name, { measures, subjects }] of Object.entries(report)) {
      for (const { title, median } of measures) expect(median, `${name}: ${title}`).toBeGreaterThanOrEqual(0);
      for (const [subject, { measured }] of Object.entries(subjects)) {
        expect(measured['time']?.median, `${name}: ${subject}`).toBeGreaterThan(0);
      }
    }
    expect(chart(report)).toContain('</svg>');
  });

  test('with a process for each subject', () => {
    const { digest } = bench('digest');
    expect(Object.keys(digest?.subjects ?? {})).toContain('intentbook');
  });

  test('or is rejected by name', () => {
    expect(() => bench('digets')).toThrow('there is no trial digets; there are');
  });
});

test('the README shows what was measured last, and so does its chart', () => {
  const report = JSON.parse(readFileSync(join(root, 'bench/results.json'), 'utf8')) as Report;
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  expect(readme).toBe(withBlock(readme, report));
  expect(readFileSync(join(root, 'docs/bench.svg'), 'utf8')).toBe(chart(report));
});
