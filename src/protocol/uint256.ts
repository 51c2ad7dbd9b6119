/** 2^256 − 1, the largest amount that the contract's `uint256` holds. */
export const MAX_UINT256 = (1n << 256n) - 1n;

const DECIMAL = /^[0-9]+$/;
const MAX_DIGITS = 78; // 2^256 has 78 decimal digits

/**
 * Reads an amount from outside: a string of decimal digits and nothing else. Leading zeros are dropped. Numbers, hex,
 * signs, exponents and blanks are malformed. The length is bounded before the digits are converted, since that
 * conversion is quadratic.
 *
 * @returns atoms, or what is wrong.
 */
export function parseUint256(text: unknown): bigint | 'malformed' | 'overflow' {
  if (typeof text !== 'string' || !DECIMAL.test(text)) return 'malformed';
  const digits = text.length > MAX_DIGITS ? text.replace(/^0+/, '') : text;
  if (digits.length > MAX_DIGITS) return 'overflow';
  const value = BigInt(digits); // of nothing but zeros, nothing is left: 0n
  return value > MAX_UINT256 ? 'overflow' : value;
}

/** Writes an amount as 32 bytes, big endian, into `target` at `offset`, as `abi.encode` lays out a word. */
export function writeUint256(target: DataView, offset: number, value: bigint): void {
  // Each write takes the lowest 64 bits of what it is given; amounts that need more than two of them are rare.
  target.setBigUint64(offset + 24, value);
  const high = value > 0xffff_ffff_ffff_ffffn ? value >> 64n : 0n;
  target.setBigUint64(offset + 16, high);
  const higher = high > 0xffff_ffff_ffff_ffffn ? high >> 64n : 0n;
  target.setBigUint64(offset + 8, higher);
  target.setBigUint64(offset, higher > 0xffff_ffff_ffff_ffffn ? higher >> 64n : 0n);
}
