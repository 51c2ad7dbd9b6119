import { existsSync, readFileSync } from 'node:fs';
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

test('compatibility: each scenario lists the assertions of its original, and holds in part if one does not hold', () => {
  for (const { name, file = '', result, remarks } of ROWS.filter((row) => row.result !== 'excluded')) {
    if (result === 'in part') expect([name, remarks]).toEqual([name, expect.stringMatching(/\w/)]);
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    const [, list = ''] = /Assertions of the original:\n([\s\S]*?)\n \*\//.exec(text) ?? [];
    const assertions = list
      .replaceAll('\n *   ', ' ')
      .split('\n')
      .map((line) => line.slice(5));
    const form = /: (?:held|in part|not held|excluded)(?:[ ,.;]|$)/;
    expect([name, assertions.filter((line) => !form.test(line))]).toEqual([name, []]);
    const tests = [...list.matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => path);
    expect([name, tests.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))]).toEqual([name, []]);
    const isPartial = assertions.some((line) => /: (?:in part|not held)/.test(line));
    expect([name, result]).toEqual([name, isPartial ? 'in part' : 'holds']);
  }
});

test('compatibility: every production scenario has one row', () => {
  expect(new Set(ROWS.map(({ name }) => name)).size).toBe(48);
  expect(ROWS).toHaveLength(48);
});
