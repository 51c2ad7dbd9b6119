import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareDecimals,
  divideDecimals,
  formatDecimal,
  parseDecimal,
  toPricePerEther,
} from '../../../src/protocol/decimal.ts';

describe('decimal parser', () => {
  test.each([
    ['0', '0'],
    ['15000000000', '15000000000'],
    ['0.00029481', '0.00029481'],
    ['00.5000', '0.5'],
    ['4e-10', '0.0000000004'],
    ['4E+2', '400'],
    ['1.25e1', '12.5'],
    ['12.50e-1', '1.25'],
    [4e-10, '0.0000000004'],
    [1e21, '1000000000000000000000'],
    [5e-324, `0.${'0'.repeat(323)}5`],
    [10n ** 80n, `1${'0'.repeat(80)}`],
  ])('parses %s as %s', (value, text) => {
    const read = parseDecimal(value);
    expect(read && formatDecimal(read)).toBe(text);
  });

  test.each([
    '',
    ' 1',
    '1 ',
    '+1',
    '-1',
    '.5',
    '5.',
    '1,5',
    '0x10',
    'NaN',
    'Infinity',
    '1e',
    '1e1000',
    '1e401',
    '1_000',
    '1'.repeat(1101),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    -0.5,
    -1n,
    null,
    undefined,
    {},
    [],
    true,
  ])('rejects %o', (value) => {
    expect(parseDecimal(value)).toBeUndefined();
  });

  test('parses formatted numbers exactly, which have no exponent', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 90n }), fc.nat(120), (digits, scale) => {
        const text = formatDecimal({ digits, scale });
        expect(text).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/);
        const again = parseDecimal(text);
        expect(again && compareDecimals(again, { digits, scale })).toBe(0);
      }),
    );
  });

  test('parses a double as its shortest decimal', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), (value) => {
        const read = parseDecimal(value);
        expect(read && Number(formatDecimal(read))).toBe(value);
      }),
    );
  });
});

describe('decimal division', () => {
  test.each([
    [1n, 3n, 4, '0.3333'],
    [2n, 3n, 4, '0.6667'],
    [10n ** 17n, 339201519622807n, 18, '294.810000000000791'],
    [999_999n, 1n, 3, '1000000'],
    [0n, 7n, 5, '0'],
    [1n, 8n, 18, '0.125'],
  ])('%s / %s to %s digits is %s', (dividend, divisor, digits, text) => {
    expect(formatDecimal(divideDecimals(dividend, divisor, digits))).toBe(text);
  });

  test('has an error of at most half of the last digit', () => {
    const amount = fc.bigInt({ min: 1n, max: 2n ** 256n });
    fc.assert(
      fc.property(amount, amount, fc.integer({ min: 1, max: 40 }), (dividend, divisor, significant) => {
        const { digits, scale } = divideDecimals(dividend, divisor, significant);
        // |digits / 10^scale − dividend / divisor| ≤ dividend / divisor × 5 × 10^−significant
        const unit = 10n ** BigInt(scale);
        const error = digits * divisor - dividend * unit;
        const bound = dividend * unit * 5n;
        expect((error < 0n ? -error : error) * 10n ** BigInt(significant) <= bound).toBe(true);
      }),
    );
  });
});

describe('decimal edge cases', () => {
  test('zero is a number, as a bigint and divided', () => {
    expect(parseDecimal(0n)).toEqual({ digits: 0n, scale: 0 });
    expect(parseDecimal(-1n)).toBeUndefined();
    expect(divideDecimals(0n, 7n, 5)).toEqual({ digits: 0n, scale: 0 });
  });

  test('exponents and lengths have documented limits', () => {
    expect(formatDecimal(parseDecimal('1e400') ?? { digits: 0n, scale: 0 })).toBe(`1${'0'.repeat(400)}`);
    expect(parseDecimal('1e-400')).toEqual({ digits: 1n, scale: 400 });
    for (const text of ['1e401', '1e-401']) expect(parseDecimal(text)).toBeUndefined();
    expect(parseDecimal('1'.repeat(1100))).toBeDefined();
    expect(parseDecimal('1'.repeat(1101))).toBeUndefined();
    for (const other of [undefined, null, true, {}, [], ['1']]) expect(parseDecimal(other)).toBeUndefined();
  });

  test('numbers are compared independently of their notation', () => {
    const [half, alsoHalf, more] = [
      { digits: 5n, scale: 1 },
      { digits: 500n, scale: 3 },
      { digits: 6n, scale: 1 },
    ];
    expect([compareDecimals(half, alsoHalf), compareDecimals(half, more), compareDecimals(more, half)]).toEqual([
      0, -1, 1,
    ]);
  });

  test('a price is scaled to one ether and truncated to wei', () => {
    expect(toPricePerEther({ digits: 15n, scale: 1 })).toBe('1500000000000000000');
    expect(toPricePerEther({ digits: 19n, scale: 19 })).toBe('1');
  });
});
