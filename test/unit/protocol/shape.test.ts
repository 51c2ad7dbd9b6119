import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { OrderBookError } from '../../../src/errors.ts';
import { amount, hex, hexSchema, parseShape, uint32 } from '../../../src/protocol/shape.ts';

function rejectionOf(schema: z.ZodMiniType, value: unknown): OrderBookError {
  const result = parseShape(schema, value);
  if (!(result instanceof OrderBookError)) throw new Error('it fits');
  return result;
}

describe('shape parser', () => {
  test.each([
    [hexSchema(2), '0xABcd', '0xabcd'],
    [hexSchema(20), `0x${'Ef'.repeat(20)}`, `0x${'ef'.repeat(20)}`],
    [hex(), '0xABcdEF', '0xabcdef'],
    [hex(), '0x', '0x'],
  ])('accepts hex in either case and stores lower case: case %#', (schema, text, kept) =>
    expect(parseShape(schema, text)).toBe(kept),
  );

  test.each([
    [hexSchema(2), 'abcd', '0x and 4 hex digits'],
    [hexSchema(2), '0xabc', '0x and 4 hex digits'],
    [hexSchema(2), '0xabcdef', '0x and 4 hex digits'],
    [hexSchema(2), ' 0xabcd', '0x and 4 hex digits'],
    [hexSchema(2), '0xabcd\n', '0x and 4 hex digits'],
    [hexSchema(2), '0Xabcd', '0x and 4 hex digits'],
    [hexSchema(2), '0xabcg', '0x and 4 hex digits'],
    [hexSchema(20), '0xabcd', '0x and 40 hex digits'],
    [hex(), 'ab', 'pairs of hex digits'],
    [hex(), '0xabc', 'pairs of hex digits'],
    [hex(), 'x0xab', 'pairs of hex digits'],
    [hex(), '0xabzz', 'pairs of hex digits'],
  ])('rejects other text: case %#, %j', (schema, text, words) =>
    expect(rejectionOf(schema, text).message).toContain(words),
  );
});

test('shape parser accepts any number of decimal digits for an amount', () => {
  const digits = '9'.repeat(1000);
  expect(parseShape(amount(), digits)).toBe(digits);
  for (const text of ['', '-1', '1.5', '1e3', '0x1', ' 1', '1 ']) {
    expect(rejectionOf(amount(), text).message).toContain('decimal digits only');
  }
});

test.each([
  [amount(), 100, 'must be decimal digits as a string, such as "1000", got the number 100'],
  [amount(), 100n, 'must be decimal digits as a string, such as "1000", got the bigint 100n'],
  [amount(), null, 'must be a string, got null'],
  [amount(), '1.5', 'must be decimal digits only, got "1.5"'],
  [uint32('must be seconds'), 1_764_212_881_000, 'must be seconds, got 1764212881000, which looks like milliseconds'],
  [uint32('must be seconds'), 1_764_212_881.5, 'must be seconds, got 1764212881.5'],
  [uint32('must be seconds'), 2 ** 32, 'must be seconds, got 4294967296'],
  [uint32('must be seconds'), '1764212881', 'must be a number, got "1764212881"'],
  [hexSchema(20), 'WETH', 'must be 0x and 40 hex digits, got "WETH"'],
  [hex(), '0x1', 'must be 0x and pairs of hex digits, got "0x1"'],
  [z.enum(['buy', 'sell']), 'Buy', 'must be one of buy, sell, got "Buy"'],
])('shape parser error names a wrong value: case %#', (schema, value, reason) => {
  expect(rejectionOf(schema, value).message).toBe(`the body ${reason}`);
});

describe('shape parser error names path and reason', () => {
  const order = z.object({
    kind: z.enum(['buy', 'sell']),
    legs: z.array(z.object({ token: hexSchema(20) })),
    full: z.boolean(),
  });
  const good = { kind: 'buy', legs: [], full: true };

  test.each([
    [7, '', 'the body must be an object, got 7'],
    [null, '', 'the body must be an object, got null'],
    [undefined, '', 'the body is missing'],
    [{ ...good, kind: 'Buy' }, 'kind', 'kind must be one of buy, sell, got "Buy"'],
    [{ ...good, kind: undefined }, 'kind', 'kind is missing'],
    [{ ...good, full: 'yes' }, 'full', 'full must be a boolean, got "yes"'],
    [{ kind: 'buy', full: true }, 'legs', 'legs is missing'],
    [{ ...good, legs: {} }, 'legs', 'legs must be an array, got an object'],
    [{ ...good, legs: [{}] }, 'legs.0.token', 'legs.0.token is missing'],
    [{ ...good, legs: [{ token: '0x12' }] }, 'legs.0.token', 'legs.0.token must be 0x and 40 hex digits, got "0x12"'],
    [{ kind: 'x', legs: 7, full: 7 }, 'kind', 'kind must be one of buy, sell, got "x"'],
  ])('of %j', (value, path, message) => {
    const rejection = rejectionOf(order, value);
    expect([rejection.code, rejection.message, rejection.data]).toEqual(['InvalidBody', message, { path }]);
  });

  test.each([
    [z.string(), 7, 'must be a string, got 7'],
    [z.string(), 7n, 'must be a string, got 7n'],
    [z.string(), () => 7, 'must be a string, got a function'],
    [z.string(), Number.NaN, 'must be a string, got NaN'],
    [z.string(), [], 'must be a string, got an array'],
    [z.string(), { toString: 1, valueOf: 1 }, 'must be a string, got an object'],
    [z.string(), Object.create(null), 'must be a string, got an object'],
    [z.number(), '"'.repeat(70), `must be a number, got "${'\\"'.repeat(64)}"`],
    [z.int(), 1.5, 'must be an int, got 1.5'],
    [z.int('must be an integer'), 1.5, 'must be an integer'],
    [z.boolean(), 0, 'must be a boolean, got 0'],
    [z.string().check(z.minLength(1)), '', 'is not valid'],
    [z.union([z.string(), z.number()]), null, 'is not valid'],
  ])('of %#: the type of a schema without its own text', (schema, value, reason) => {
    expect(rejectionOf(schema, value).message).toBe(`the body ${reason}`);
  });

  test('in English, whatever language the application has set for zod', () => {
    const { localeError } = z.config();
    z.config({ localeError: () => 'ungültig' });
    try {
      expect(rejectionOf(order, { ...good, full: 1 }).message).toBe('full must be a boolean, got 1');
      expect(rejectionOf(order, { ...good, kind: 1 }).message).toBe('kind must be one of buy, sell, got 1');
      expect(rejectionOf(order, {}).message).toBe('kind is missing');
    } finally {
      z.config({ localeError });
    }
  });

  test('with the code of the route', () => {
    expect(parseShape(order, {}, 'InvalidParameter')).toMatchObject({
      code: 'InvalidParameter',
      data: { path: 'kind' },
    });
  });
});
