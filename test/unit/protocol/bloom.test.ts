import { keccak256 } from 'viem';
import { expect, test } from 'vitest';
import { mayContain } from '../../../src/protocol/bloom.ts';
import type { Hex } from '../../../src/protocol/hex.ts';

const NONE: Hex = `0x${'00'.repeat(256)}`;

/** Returns the three bits of a value, counted from the end (Yellow Paper, 4.3.1). */
const bitsOf = (value: Hex) => [2, 6, 10].map((at) => Number.parseInt(keccak256(value).slice(at, at + 4), 16) % 2048);

function withBits(bits: readonly number[]): Hex {
  const set = bits.reduce((filter, bit) => filter | (1n << BigInt(bit)), 0n);
  return `0x${set.toString(16).padStart(512, '0')}`;
}

test.each<Hex>(['0x', '0x00', `0x${'9c'.repeat(20)}`, `0x${'ab'.repeat(32)}`])(
  '%s can be in a bloom filter with its three bits',
  (value) => {
    const bits = bitsOf(value);
    expect(mayContain(withBits(bits), value)).toBe(true);
    expect(mayContain(`0x${'ff'.repeat(256)}`, value)).toBe(true);
    expect(mayContain(NONE, value)).toBe(false);
    // All three bits are required, and their neighbours do not count.
    for (const bit of new Set(bits))
      expect(mayContain(withBits(bits.filter((each) => each !== bit)), value)).toBe(false);
    expect(mayContain(withBits(bits.map((bit) => (bit + 1) % 2048)), value)).toBe(false);
  },
);
