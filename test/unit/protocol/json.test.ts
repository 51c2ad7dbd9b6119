import { expect, test } from 'vitest';
import { isNestedDeeper } from '../../../src/protocol/json.ts';

/** Deep by either bracket, or by both in turn. */
const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth);

test.each([
  ['lists', nested(5)],
  ['objects', nested(5, '{', '}')],
  ['both', `${nested(2, '[{', '}]').slice(0, 4)}[]${'}]'.repeat(2)}`],
  ['among others that are flat', `[${'[],{},'.repeat(100)}${nested(4)}]`],
  ['behind others that are flat', `${'[{}]'.repeat(100)}${nested(5)}`],
  ['never closed', '['.repeat(5)],
  ['behind a text with an escaped quote', `["\\"]]]]",${nested(4)}]`],
  ['behind a text that ends in a backslash', `["\\\\",${nested(4)}]`],
])('text that is five deep is deeper than four, and not than five: %s', (_, text) => {
  expect([isNestedDeeper(text, 4), isNestedDeeper(text, 5)]).toEqual([true, false]);
});

test.each([
  ['many that are flat', '[]'.repeat(100)],
  ['objects that are flat', '{}'.repeat(100)],
  ['each closed before the next', '[{}]'.repeat(100)],
  ['a text of brackets', `"${'['.repeat(100)}"`],
  ['a text of brackets behind an escaped quote', `"\\"${'[{'.repeat(100)}"`],
  ['nothing', ''],
])('what has brackets is not deep for that: %s', (_, text) => {
  expect(isNestedDeeper(text, 2)).toBe(false);
});
