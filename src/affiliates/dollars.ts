import { parseDecimal } from '../protocol/decimal.ts';

/** Amounts of US dollars are counted in millionths, exactly. */
export const MICROS = 1_000_000n;

/** Converts US dollars, a number or a decimal text, to millionths, rounded down. @throws TypeError if it is invalid. */
export function toMicros(value: number | string): bigint {
  const decimal = parseDecimal(value);
  if (decimal === undefined) throw new TypeError(`an amount of US dollars must be a decimal number, got ${value}`);
  return (decimal.digits * MICROS) / 10n ** BigInt(decimal.scale);
}

/** Converts millionths to US dollars. */
export function toDollars(micros: bigint): number {
  return Number(`${micros}e-6`);
}

/**
 * Returns the value of atoms in millionths of a US dollar, rounded half up.
 *
 * @param price - US dollars for one whole token.
 */
export function toValue(atoms: bigint, decimals: number, price: number): bigint | undefined {
  const parsed = parseDecimal(price);
  if (parsed === undefined) return undefined;
  const divisor = 10n ** BigInt(decimals + parsed.scale);
  return (2n * atoms * parsed.digits * MICROS + divisor) / (2n * divisor);
}
