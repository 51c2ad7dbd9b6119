import fc from 'fast-check';
import { toHex } from 'viem';
import { describe, expect, test } from 'vitest';
import { bytesToHex } from '../../../src/protocol/hex.ts';
import { MAX_UINT256, parseUint256, writeUint256 } from '../../../src/protocol/uint256.ts';
import { amount, EXTREME_AMOUNTS } from './arbitraries.ts';

describe('parseUint256', () => {
  test.each(EXTREME_AMOUNTS)('reads %s', (value) => {
    expect(parseUint256(value.toString())).toBe(value);
  });

  test('drops leading zeros, however many', () => {
    expect(parseUint256('000')).toBe(0n);
    expect(parseUint256('0042')).toBe(42n);
    expect(parseUint256(`${'0'.repeat(1_000_000)}${MAX_UINT256}`)).toBe(MAX_UINT256);
    expect(parseUint256('0'.repeat(1_000_000))).toBe(0n);
  });

  test.each([
    ['one more than fits', (MAX_UINT256 + 1n).toString()],
    ['one more than fits, after zeros', `000${MAX_UINT256 + 1n}`],
    ['as many digits as the maximum, all nines', '9'.repeat(78)],
    ['one digit more than the maximum', '1'.repeat(79)],
    ['a one and as many zeros', `1${'0'.repeat(78)}`],
    ['ten million digits', '9'.repeat(10_000_000)],
  ])('overflows on %s', (_, text) => {
    expect(parseUint256(text)).toBe('overflow');
  });

  test.each([
    ['nothing', ''],
    ['a minus', '-1'],
    ['minus zero', '-0'],
    ['a plus', '+1'],
    ['an exponent', '1e3'],
    ['a fraction', '1.0'],
    ['hex', '0x10'],
    ['octal', '0o7'],
    ['a blank before', ' 1'],
    ['a blank after', '1 '],
    ['a blank', ' '],
    ['a line break', '1\n'],
    ['separators', '1_000'],
    ['commas', '1,000'],
    ['a suffix', '1n'],
    ['full-width digits', '１２'],
    ['Arabic digits', '١٢'],
    ['a superscript', '1²'],
    ['a megabyte of digits, then a letter', `${'9'.repeat(1_000_000)}x`],
    ['Infinity', 'Infinity'],
    ['a number', 1],
    ['minus zero, a number', -0],
    ['NaN', Number.NaN],
    ['a bigint', 1n],
    ['null', null],
    ['undefined', undefined],
    ['true', true],
    ['a list of one text', ['1']],
    ['a text object', Object('1')],
  ])('rejects %s', (_, text) => {
    expect(parseUint256(text)).toBe('malformed');
  });

  test('any text is either digits alone or rejected', () => {
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
  test('fills one word, big endian, and no byte besides', () => {
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
