import { expect, test } from 'vitest';
import { isNestedDeeper } from '../../../src/protocol/json.ts';

/** Nested with either bracket, or with both alternately. */
const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth);

test.each([
  ['lists', nested(5)],
  ['objects', nested(5, '{', '}')],
  ['both', `${nested(2, '[{', '}]').slice(0, 4)}[]${'}]'.repeat(2)}`],
  ['among flat siblings', `[${'[],{},'.repeat(100)}${nested(4)}]`],
  ['behind flat siblings', `${'[{}]'.repeat(100)}${nested(5)}`],
  ['never closed', '['.repeat(5)],
  ['behind a string with an escaped quote', `["\\"]]]]",${nested(4)}]`],
  ['behind a string that ends in a backslash', `["\\\\",${nested(4)}]`],
])('JSON depth check finds depth five above limit four and within limit five: %s', (_, text) => {
  expect([isNestedDeeper(text, 4), isNestedDeeper(text, 5)]).toEqual([true, false]);
});

test.each([
  ['many flat values', '[]'.repeat(100)],
  ['flat objects', '{}'.repeat(100)],
  ['values closed before the next', '[{}]'.repeat(100)],
  ['a string of brackets', `"${'['.repeat(100)}"`],
  ['a string of brackets behind an escaped quote', `"\\"${'[{'.repeat(100)}"`],
  ['nothing', ''],
])('JSON depth check accepts %s', (_, text) => {
  expect(isNestedDeeper(text, 2)).toBe(false);
});
