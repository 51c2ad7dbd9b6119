import { expect, test } from 'vitest';
import { ORDER_STATUSES } from '../../../src/records/wire-order.ts';
import { formatUnknownName } from '../../../src/validation/options.ts';

test.each([
  ['opne', 'unknown status "opne", did you mean "open"?'],
  ['canceled', 'unknown status "canceled", did you mean "cancelled"?'],
  ['something else', 'unknown status "something else"'],
])('unknown option %j is reported with or without a suggestion', (name, expected) => {
  expect(formatUnknownName('status', name, ORDER_STATUSES)).toBe(expected);
});

// Comparison takes the product of the lengths, and a query string can have sixteen thousand characters.
test('option check reports a long name truncated and without a suggestion', () => {
  const long = 'open'.repeat(16_384);
  expect(formatUnknownName('status', long, [long])).toBe(`unknown status "${long.slice(0, 64)}…"`);
  const longest = 'expired'.padStart(64, 'x');
  expect(formatUnknownName('status', longest, [longest])).toContain(`did you mean "${longest}"?`);
});
