import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { PLANTED } from './planted.ts';
import { findPlanted } from './run-planted.ts';

const PAGE = fileURLToPath(new URL('../../docs/internals/simulation.md', import.meta.url));
const MARKERS = /(<!-- planted:begin -->\n)[\s\S]*(<!-- planted:end -->)/;

/** Maximum number of seeds for each fault. Without it, the faults are not searched. */
const SEEDS = Number(process.env['INTENTBOOK_PLANTED'] ?? 0);

test('planted faults are listed in the documentation', () => {
  const table = MARKERS.exec(readFileSync(PAGE, 'utf8'))?.[0] ?? '';
  expect(PLANTED.filter(({ name }) => !table.includes(`| ${name} |`))).toEqual([]);
  expect(new Set(PLANTED.map(({ name }) => name)).size).toBe(PLANTED.length);
});

test.skipIf(SEEDS === 0)('planted faults are found', async () => {
  const rows: string[] = [];
  const missed: string[] = [];
  for (const fault of PLANTED) {
    const { seed, invariant } = await findPlanted(fault, SEEDS);
    if (seed === undefined) missed.push(fault.name);
    rows.push(`| ${fault.area} | ${fault.name} | ${fault.store} | ${seed ?? 'not found'} | \`${invariant ?? ''}\` |\n`);
  }
  const head = '| area | fault | storage | found by seed | invariant |\n|---|---|---|---:|---|\n';
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(
    PAGE,
    page.replace(MARKERS, (_, begin: string, end: string) => `${begin}${head}${rows.join('')}${end}`),
  );
  expect(missed).toEqual([]);
});
