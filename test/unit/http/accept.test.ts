import { describe, expect, test } from 'vitest';
import { isTypeRequested } from '../../../src/http/accept.ts';

describe('media type of the Accept header', () => {
  test.each([
    ['text/csv', true],
    ['TEXT/CSV; charset=utf-8', true],
    ['application/json, text/csv', true],
    ['text/csv;q=0.9, */*;q=0.8', true],
    ['text/csv ; q=1.0,application/json;q=0.5', true],
    ['application/json, text/csv;q=0.1', false],
    ['text/csv;q=0, application/json', false],
    ['text/csv;q=0', false],
    ['text/csv;q=0.5, */*', false],
    ['text/csv;q=0.5, application/*', false],
    ['text/csv;q=x', false],
    ['text/csv-schema', false],
    ['application/json, text/plain, */*', false],
    ['*/*', false],
    [', ,', false],
    ['', false],
    [undefined, false],
  ])('%s requests CSV: %s', (accept, expected) => {
    expect(isTypeRequested({ header: () => accept }, 'text/csv')).toBe(expected);
  });
});
