import { encodeAbiParameters, encodeFunctionData, parseAbi, parseAbiParameters } from 'viem';
import { describe, expect, test } from 'vitest';
import { array, bytes, bytes32, decodeWords, encodeCall, tuple, word } from '../../../src/protocol/abi-encoding.ts';
import type { Hex } from '../../../src/protocol/hex.ts';

const OWNER: Hex = `0x${'ab'.repeat(20)}`;
const HASH: Hex = `0x${'cd'.repeat(32)}`;

describe('ABI encoding', () => {
  test.each<[string, Parameters<typeof word>[0], string]>([
    ['an integer', 5n, '5'],
    ['a number', 255, 'ff'],
    ['true', true, '1'],
    ['false', false, '0'],
    ['an address', OWNER, OWNER.slice(2)],
    ['the largest integer', 2n ** 256n - 1n, 'f'.repeat(64)],
  ])('of %s is one word', (_, value, digits) => {
    expect(word(value)).toEqual({ dynamic: false, words: digits.padStart(64, '0') });
  });

  test('of fixed bytes begins with them', () => {
    expect(bytes32('0x1234')).toEqual({ dynamic: false, words: `1234${'0'.repeat(60)}` });
    expect(bytes32(HASH).words).toBe(HASH.slice(2));
  });

  test.each([0, 1, 31, 32, 33, 64])('of %i bytes equals that of an independent encoder', (size) => {
    const value: Hex = `0x${'ef'.repeat(size)}`;
    expect(encodeCall('0x', [bytes(value)])).toBe(encodeAbiParameters([{ type: 'bytes' }], [value]));
    expect(bytes(value).dynamic).toBe(true);
  });

  test('of nested values equals that of an independent encoder', () => {
    const abi = parseAbi([
      'function run(address a, (uint256 x, bytes y)[] list, bytes32 h, (bool b, uint8 c) pair, bytes z)',
    ]);
    const args = [
      OWNER,
      [
        { x: 1n, y: '0x12' },
        { x: 2n, y: `0x${'34'.repeat(40)}` },
      ],
      HASH,
      { b: true, c: 7 },
      '0x',
    ] as const;
    const list = args[1].map(({ x, y }) => tuple([word(x), bytes(y)]));
    const pair = tuple([word(true), word(7)]);
    expect([tuple([word(1n), bytes('0x')]).dynamic, pair.dynamic]).toEqual([true, false]);
    const expected = encodeFunctionData({ abi, functionName: 'run', args });
    const encoded = encodeCall(expected.slice(0, 10) as Hex, [
      word(OWNER),
      array(list),
      bytes32(HASH),
      pair,
      bytes('0x'),
    ]);
    expect(encoded).toBe(expected);
  });

  test('of a list of words has no offsets', () => {
    const expected = encodeAbiParameters(parseAbiParameters('uint256[], address'), [[1n, 2n, 3n], OWNER]);
    expect(encodeCall('0x', [array([1n, 2n, 3n].map(word)), word(OWNER)])).toBe(expected);
    expect(array([])).toEqual({ dynamic: true, words: '0'.repeat(64) });
  });
});

describe('words of a result', () => {
  test('are integers', () => {
    expect(decodeWords('0x')).toEqual([]);
    expect(decodeWords(`0x${'0'.repeat(63)}1${'F'.repeat(64)}`)).toEqual([1n, 2n ** 256n - 1n]);
  });

  test.each(['', '0x1', `0x${'0'.repeat(65)}`, `x0x${'0'.repeat(64)}`, `0x${'g'.repeat(64)}`, `${'0'.repeat(64)}`])(
    'are required: %s',
    (result) => {
      expect(() => decodeWords(result)).toThrow(
        new TypeError(`the result of a call must be words of 32 bytes, got ${result.slice(0, 80)}`),
      );
    },
  );

  test.each([undefined, 5, ['0x']])('are text: %j', (result) => {
    expect(() => decodeWords(result)).toThrow('the result of a call must be words of 32 bytes');
  });
});
