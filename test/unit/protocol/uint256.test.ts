import fc from 'fast-check';
import { toHex } from 'viem';
import { describe, expect, test } from 'vitest';
import { bytesToHex } from '../../../src/protocol/hex.ts';
import { MAX_UINT256, parseUint256, writeUint256 } from '../../../src/protocol/uint256.ts';
import { amount, EXTREME_AMOUNTS } from './arbitraries.ts';

describe('parseUint256', () => {
  test.each(EXTREME_AMOUNTS)('accepts %s', (value) => {
    expect(parseUint256(value.toString())).toBe(value);
  });

  test('drops any number of leading zeros', () => {
    expect(parseUint256('000')).toBe(0n);
    expect(parseUint256('0042')).toBe(42n);
    expect(parseUint256(`${'0'.repeat(1_000_000)}${MAX_UINT256}`)).toBe(MAX_UINT256);
    expect(parseUint256('0'.repeat(1_000_000))).toBe(0n);
  });

  test.each([
    ['the maximum plus one', (MAX_UINT256 + 1n).toString()],
    ['the maximum plus one with leading zeros', `000${MAX_UINT256 + 1n}`],
    ['nines with the length of the maximum', '9'.repeat(78)],
    ['one digit more than the maximum', '1'.repeat(79)],
    ['a one followed by zeros', `1${'0'.repeat(78)}`],
    ['ten million digits', '9'.repeat(10_000_000)],
  ])('overflows on %s', (_, text) => {
    expect(parseUint256(text)).toBe('overflow');
  });

  test.each([
    ['nothing', ''],
    ['a minus sign', '-1'],
    ['minus zero', '-0'],
    ['a plus sign', '+1'],
    ['an exponent', '1e3'],
    ['a fraction', '1.0'],
    ['hex', '0x10'],
    ['octal', '0o7'],
    ['a leading blank', ' 1'],
    ['a trailing blank', '1 '],
    ['a blank', ' '],
    ['a line break', '1\n'],
    ['separators', '1_000'],
    ['commas', '1,000'],
    ['a suffix', '1n'],
    ['full-width digits', '１２'],
    ['Arabic digits', '١٢'],
    ['a superscript digit', '1²'],
    ['a megabyte of digits with a letter', `${'9'.repeat(1_000_000)}x`],
    ['Infinity', 'Infinity'],
    ['a number', 1],
    ['the number minus zero', -0],
    ['NaN', Number.NaN],
    ['a bigint', 1n],
    ['null', null],
    ['undefined', undefined],
    ['true', true],
    ['an array of one string', ['1']],
    ['a String object', Object('1')],
  ])('rejects %s', (_, text) => {
    expect(parseUint256(text)).toBe('malformed');
  });

  test('accepts any text of either digits alone or rejects it', () => {
    const unit = fc.constantFrom(...'00112233445566778899-+.eExX ０\n');
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit, maxLength: 90 }), fc.string({ unit: 'binary' })), (text) => {
        const digits = text !== '' && [...text].every((character) => '0123456789'.includes(character));
        const expected = !digits ? 'malformed' : BigInt(text) > MAX_UINT256 ? 'overflow' : BigInt(text);
        expect(parseUint256(text)).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('writeUint256', () => {
  test('writes one big-endian word and no other byte', () => {
    fc.assert(
      fc.property(amount, fc.nat(16), (value, offset) => {
        const bytes = new Uint8Array(64).fill(0xee);
        writeUint256(new DataView(bytes.buffer), offset, value);
        expect(bytesToHex(bytes.subarray(offset, offset + 32))).toBe(toHex(value, { size: 32 }));
        expect(bytes.subarray(0, offset).every((byte) => byte === 0xee)).toBe(true);
        expect(bytes.subarray(offset + 32).every((byte) => byte === 0xee)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
