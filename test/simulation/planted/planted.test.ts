import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { PlantedFault } from './planted.ts';
import { PLANTED } from './planted.ts';
import { SUITE_FAULTS } from './planted-suites.ts';
import { findRow, MARKERS, PAGE } from './planted-table.ts';
import { findPlanted, loadPlanted } from './run-planted.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Maximum number of seeds for each fault. Without it, the faults are not searched. */
const SEEDS = Number(process.env['TEST_PLANTED'] ?? 0);
/** The areas to search, separated by commas. Default: all. */
const AREAS = process.env['TEST_PLANTED_AREAS']?.split(',');

test('planted faults are listed in the documentation', () => {
  expect(PLANTED.filter((fault) => findRow(fault) === undefined)).toEqual([]);
  const page = readFileSync(PAGE, 'utf8');
  expect(SUITE_FAULTS.filter(({ name, suite }) => !page.includes(`| ${name} | \`${suite}\` |`))).toEqual([]);
  const faults = [...PLANTED, ...SUITE_FAULTS];
  expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length);
});

test('planted faults replace text that occurs once', () => {
  const count = ({ file, find }: Pick<PlantedFault, 'file' | 'find'>) =>
    readFileSync(`${ROOT}${file}`, 'utf8').split(find).length - 1;
  const faults = [...PLANTED, ...SUITE_FAULTS];
  expect(faults.filter((fault) => count(fault) !== 1).map(({ name }) => name)).toEqual([]);
});

// A search takes up to an hour.
test.skipIf(SEEDS === 0)('planted faults are found', { timeout: 3_600_000 }, async () => {
  const page = readFileSync(PAGE, 'utf8');
  const { simulate } = await loadPlanted();
  const missed: string[] = [];
  const rows: string[] = [];
  for (const fault of PLANTED) {
    const row = findRow(fault);
    if (row !== undefined && AREAS?.includes(fault.area) === false) {
      rows.push(`${row}\n`);
      continue;
    }
    const { seed, invariant } = await findPlanted(fault, SEEDS);
    if (seed === undefined) missed.push(fault.name);
    // A seed that fails without the fault as well has found something else.
    else if ((await simulate({ seed, store: fault.store })).violation !== undefined)
      missed.push(`${fault.name}: seed ${seed} fails without it`);
    rows.push(`| ${fault.area} | ${fault.name} | ${fault.store} | ${seed ?? 'not found'} | \`${invariant ?? ''}\` |\n`);
  }
  const head = '| area | fault | storage | found by seed | invariant |\n|---|---|---|---:|---|\n';
  writeFileSync(
    PAGE,
    page.replace(MARKERS, (_, begin: string, end: string) => `${begin}${head}${rows.join('')}${end}`),
  );
  expect(missed).toEqual([]);
});
