import fc from 'fast-check';
import { toHex, hexToBytes as viemHexToBytes } from 'viem';
import { describe, expect, test } from 'vitest';
import { bytesToHex, hexSize, hexToBytes, parseHex, writeHex } from '../../../src/protocol/hex.ts';
import { chains, hex, vectors } from '../../support/vectors/vectors.ts';

const DIGITS = '0123456789abcdefABCDEF';

describe('parseHex', () => {
  test.each([
    ['0x', '0x'],
    ['0x00', '0x00'],
    ['0xAbCdEf', '0xabcdef'],
    ['0x0123456789abcdefABCDEF', '0x0123456789abcdefabcdef'],
  ])('parses %s as %s', (text, parsed) => {
    expect(parseHex(text)).toBe(parsed);
  });

  test.each([
    ['nothing', ''],
    ['no prefix', 'ab'],
    ['an upper-case prefix', '0Xab'],
    ['an odd number of digits', '0xabc'],
    ['an incomplete prefix', '0'],
    ['an invalid letter', '0xag'],
    ['letters around the digits', '0x@`'],
    ['characters around the digits', '0x/:'],
    ['a leading blank', ' 0xab'],
    ['a trailing blank', '0xab '],
    ['a trailing line break', '0xab\n'],
    ['a second line', '0xab\n0xab'],
    ['a NUL', '0xab\0'],
    ['full-width digits', '0x１２'],
    ['full-width letters', '0xａｂ'],
    ['a letter that lower-cases to k', '0xK0'],
    ['two prefixes', '0x0xab'],
    ['a minus sign', '-0xab'],
    ['separators', '0xab_cd'],
    ['a number', 0xab],
    ['a bigint', 0xabn],
    ['null', null],
    ['undefined', undefined],
    ['true', true],
    ['an array of one string', ['0xab']],
    ['a String object', Object('0xab')],
    ['bytes', Uint8Array.of(0xab)],
    ['an object with the length of a string', { length: 4 }],
  ])('rejects %s', (_, text) => {
    expect(parseHex(text)).toBeUndefined();
    expect(parseHex(text, 1)).toBeUndefined();
  });

  test('requires the exact size', () => {
    expect(parseHex('0x', 0)).toBe('0x');
    expect(parseHex('0x00', 0)).toBeUndefined();
    for (const size of [19, 21]) expect(parseHex(`0x${'ab'.repeat(size)}`, 20)).toBeUndefined();
    expect(parseHex(`0x${'ab'.repeat(20)}`, 20)).toBe(`0x${'ab'.repeat(20)}`);
    expect(parseHex(`0x${'ab'.repeat(19)}a`, 20)).toBeUndefined();
    expect(parseHex('ab'.repeat(21), 20)).toBeUndefined();
  });

  test('does not check the checksum of an address', () => {
    const { settlement } = chains.production;
    const [domain] = vectors.domains;
    expect(parseHex(domain?.verifyingContract, 20)).toBe(settlement);
    expect(parseHex(settlement.toUpperCase().replace('X', 'x'), 20)).toBe(settlement);
  });

  test('parses megabytes', () => {
    const text = `0x${'aB'.repeat(4_000_000)}`;
    expect(parseHex(text)).toBe(text.toLowerCase());
    expect(parseHex(`${text}g`)).toBeUndefined();
    expect(parseHex(`${text}0g`)).toBeUndefined();
  });

  test('accepts hex of whole bytes and rejects any other text', () => {
    const unit = fc.constantFrom(...`${DIGITS}xXgG０ａ \n\0-`);
    const text = fc.string({ unit }).chain((tail) => fc.constantFrom(tail, `0x${tail}`));
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ unit: 'binary' })), (candidate) => {
        const digits = [...candidate.slice(2)];
        const isHex =
          candidate.startsWith('0x') && digits.length % 2 === 0 && digits.every((digit) => DIGITS.includes(digit));
        expect(parseHex(candidate)).toBe(isHex ? candidate.toLowerCase() : undefined);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('hex codec', () => {
  test('writes two lower-case digits per byte', () => {
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const text = bytesToHex(all);
    expect(text).toBe(toHex(all));
    expect(hexToBytes(text)).toEqual(all);
  });

  test('decodes its own encoding, like viem', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const text = bytesToHex(bytes);
        expect(text).toBe(toHex(bytes));
        expect(hexSize(text)).toBe(bytes.length);
        expect(hexToBytes(text)).toEqual(viemHexToBytes(text));
      }),
      { numRuns: 300 },
    );
  });

  test('writes only the selected bytes', () => {
    const target = new Uint8Array(8).fill(0xee);
    writeHex(target, 2, '0x00112233445566', 3, 4);
    expect(bytesToHex(target)).toBe('0xeeee33445566eeee');
  });

  test('reads the data of an order placement as a quote id of 8 bytes and a validity of 4', () => {
    const placements = vectors.ethflow.flatMap(({ data, decoded }) => (data === undefined ? [] : [{ data, decoded }]));
    expect(placements).toHaveLength(1);
    for (const { data, decoded } of placements) {
      const view = new DataView(hexToBytes(hex(data)).buffer);
      expect(view.byteLength).toBe(12);
      expect({ quoteId: Number(view.getBigInt64(0)), userValidTo: view.getUint32(8) }).toEqual(decoded);
    }
  });
});
