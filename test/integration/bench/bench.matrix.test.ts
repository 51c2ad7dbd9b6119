import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chart } from '../../../bench/chart.ts';
import type { Report } from '../../../bench/report.ts';
import { withHighlights, withMeasures, withSpeed } from '../../../bench/report.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'intentbook-bench-test-'));
afterAll(() => rmSync(scratch, { recursive: true }));

/** Runs a benchmark like `npm run bench` on a new machine: with the built package and without files of earlier runs. */
function bench(...args: string[]): Report {
  const json = join(scratch, 'report.json');
  const folder = mkdtempSync(join(scratch, 'machine-'));
  for (const each of [scratch, folder]) chmodSync(each, 0o755); // PostgreSQL may run as another user
  execFileSync(process.execPath, ['bench/built/run.js', '--tiny', '--json', json, ...args], {
    cwd: root,
    stdio: 'pipe',
    env: { ...process.env, TMPDIR: folder },
  });
  return JSON.parse(readFileSync(json, 'utf8')) as Report;
}

describe('benchmarks', () => {
  beforeAll(() => {
    execFileSync('npx', ['tsup', '--silent', '--config', 'bench/tsup.config.ts'], { cwd: root });
  });

  test('every benchmark runs once at a tiny size', { timeout: 180_000 }, () => {
    const report = bench('--together');
    const files = readdirSync(join(root, 'bench/benchmarks')).map((file) => file.replace(/\.ts$/, ''));
    expect(Object.keys(report)).toEqual(files.sort());
    for (const [name, { measures, subjects }] of Object.entries(report)) {
      // Of a tiny size even a share of a time can be above 1, so a result can be negative.
      for (const { title, median } of measures) expect(median, `${name}: ${title}`).toSatisfy(Number.isFinite);
      for (const [subject, { measured }] of Object.entries(subjects)) {
        expect(measured['time']?.median, `${name}: ${subject}`).toBeGreaterThan(0);
      }
    }
    expect(chart(report)).toContain('</svg>');
  });

  test('every benchmark runs with one process per subject', () => {
    const { digest } = bench('digest');
    expect(Object.keys(digest?.subjects ?? {})).toContain('intentbook');
  });

  test('files of orders contain several orders of each owner', () => {
    const { list } = bench('list', '--together', '--orders', '20k');
    expect(list?.title).toContain('20000 orders');
  });

  test('an unknown benchmark is rejected by name', () => {
    expect(() => bench('digets')).toThrow('unknown benchmark digets; available:');
  });
});

test('README, pages with figures and chart show the stored results', () => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const report = JSON.parse(read('bench/results.json')) as Report;
  const [readme, page] = [read('README.md'), read('docs/internals/benchmarks.md')];
  expect(readme).toBe(withHighlights(readme, report));
  expect(page).toBe(withMeasures(page, report));
  const speed = read('docs/reference/speed.md');
  expect(speed).toBe(withSpeed(speed, report));
  expect(read('docs/internals/benchmarks.svg')).toBe(chart(report));
});

test('the page states a reason beside every missed target', () => {
  const page = readFileSync(join(root, 'docs/internals/benchmarks.md'), 'utf8');
  expect(page).toContain('| missed target | reason |');
  expect(page).not.toContain('| not known |');
});
