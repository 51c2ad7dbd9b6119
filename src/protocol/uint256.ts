/** 2^256 − 1, the maximum of a `uint256`. */
export const MAX_UINT256 = (1n << 256n) - 1n;

const DECIMAL = /^[0-9]+$/;
const MAX_DIGITS = 78; // 2^256 has 78 decimal digits

/**
 * Parses an amount: a string of decimal digits only. Leading zeros are dropped. Numbers, hex, signs, exponents and
 * blanks are malformed. The length is checked before the conversion, because its cost is quadratic.
 *
 * @returns Atoms, or the kind of error.
 */
export function parseUint256(text: unknown): bigint | 'malformed' | 'overflow' {
  if (typeof text !== 'string' || !DECIMAL.test(text)) return 'malformed';
  const digits = text.length > MAX_DIGITS ? text.replace(/^0+/, '') : text;
  if (digits.length > MAX_DIGITS) return 'overflow';
  const value = BigInt(digits); // 0n if only zeros were dropped
  return value > MAX_UINT256 ? 'overflow' : value;
}

/** Writes an amount as 32 bytes, big endian, into `target` at `offset`, like a word of `abi.encode`. */
export function writeUint256(target: DataView, offset: number, value: bigint): void {
  // `setBigUint64` writes the lowest 64 bits. Amounts above 2^128 are rare.
  target.setBigUint64(offset + 24, value);
  const high = value > 0xffff_ffff_ffff_ffffn ? value >> 64n : 0n;
  target.setBigUint64(offset + 16, high);
  const higher = high > 0xffff_ffff_ffff_ffffn ? high >> 64n : 0n;
  target.setBigUint64(offset + 8, higher);
  target.setBigUint64(offset, higher > 0xffff_ffff_ffff_ffffn ? higher >> 64n : 0n);
}

export const ceilDivide = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;
