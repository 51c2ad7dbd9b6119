import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SCENARIOS } from '../scenarios/support/list.ts';

const PAGE = readFileSync(new URL('../../docs/compatibility.md', import.meta.url), 'utf8');

/** Rows of the table: the name, the file of its test, the result and the remarks. */
const ROWS = [
  ...PAGE.matchAll(/^\| `(\w+)` \| (?:\[test\]\(\.\.\/(\S+)\) )?\| (holds|in part|excluded) \| (.*?) ?\|$/gm),
].map(([, name = '', file, result, remarks]) => ({ name, file, result, remarks }));

test('compatibility: the table of scenarios lists the files of the folder', () => {
  const held = ROWS.filter(({ result }) => result !== 'excluded');
  expect(held.map(({ name, file }) => [name, file])).toEqual(
    SCENARIOS.map((name) => [name, `test/scenarios/${name}.ts`]),
  );
});

test('compatibility: each excluded scenario has a reason and no test', () => {
  const excluded = ROWS.filter(({ result }) => result === 'excluded');
  expect(excluded).toHaveLength(8);
  for (const { file, remarks } of excluded) expect([file, remarks]).toEqual([undefined, expect.stringMatching(/\w/)]);
});

test('compatibility: each scenario that holds in part has a reason, and its file lists the assertions', () => {
  for (const { file = '', result, remarks } of ROWS.filter((row) => row.result === 'in part')) {
    expect([result, remarks]).toEqual(['in part', expect.stringMatching(/\w/)]);
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    expect(text).toContain('Assertions of the original:');
  }
});

test('compatibility: every production scenario has one row', () => {
  expect(new Set(ROWS.map(({ name }) => name)).size).toBe(48);
  expect(ROWS).toHaveLength(48);
});
