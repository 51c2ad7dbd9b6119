import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

type AddRun = (page: string, run: { store: string; from: number; seeds: number; findings: number }) => string;
const { addRun } = (await import(new URL('./seed-table.mjs', import.meta.url).href)) as { addRun: AddRun };
const page = readFileSync(new URL('../../docs/internals/testing.md', import.meta.url), 'utf8');
const readRow = (text: string, store: string) => text.split('\n').find((line) => line.startsWith(`| ${store} |`));
const readTotal = (text: string, store: string) =>
  Number(readRow(text, store)?.split('|')[2]?.replaceAll(',', '') ?? Number.NaN);

test('a run adds its seeds to the row of its store', () => {
  const added = addRun(page, { store: 'shared', from: 7, seeds: 1500, findings: 2 });
  expect(readTotal(added, 'shared')).toBe(readTotal(page, 'shared') + 1500);
  expect(readRow(added, 'shared')).toMatch(/\| 1,500 from 7, 2 with a finding \|$/);
  for (const store of ['memory', 'sqlite', 'pglite']) expect(readRow(added, store)).toBe(readRow(page, store));
  expect(added.split('\n')).toHaveLength(page.split('\n').length);
});

test('the first run of a store adds a row', () => {
  const added = addRun(page, { store: 'new', from: 1, seeds: 3, findings: 0 });
  expect(readRow(added, 'new')).toBe('| new | 3 | 3 from 1, no finding |');
});

test('a page without the table is rejected', () => {
  expect(() => addRun('# Testing', { store: 'memory', from: 1, seeds: 1, findings: 0 })).toThrow('seeds:begin');
});
