import type { Hex } from './types.ts';

/** @throws TypeError if `value` is not a whole number from 0 to 2^256 − 1. */
export function toAmount(name: string, value: string | bigint): bigint {
  const amount = typeof value === 'string' && /^[0-9]+$/.test(value) ? BigInt(value) : value;
  if (typeof amount === 'bigint' && amount >= 0n && amount < 2n ** 256n) return amount;
  throw new TypeError(`${name} must be a whole number of atoms below 2^256, got ${JSON.stringify(String(value))}`);
}

/** Parses hex of `size` bytes, converted to lower case. */
export function toHex(name: string, value: string, size: number): Hex {
  if (isHex(value, size)) return value.toLowerCase() as Hex;
  throw new TypeError(`${name} must be 0x and ${size * 2} hex digits, got ${JSON.stringify(value)}`);
}

/** Checks whether a text is hex of `size` bytes. */
export function isHex(value: unknown, size: number): value is Hex {
  return typeof value === 'string' && value.length === 2 + 2 * size && /^0x[0-9a-fA-F]*$/.test(value);
}

/** @throws TypeError if `value` is not a whole number from `least` to `most`. */
export function toInteger(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new TypeError(`${name} must be an integer from ${least} to ${most}, got ${String(value)}`);
}

/** @throws TypeError if `value` is not a text. */
export function toText(name: string, value: string): string {
  if (typeof value === 'string') return value;
  throw new TypeError(`${name} must be a text, got ${format(value)}`);
}

/** @throws TypeError if `value` is not a boolean. */
export function toBoolean(name: string, value: boolean): boolean {
  if (typeof value === 'boolean') return value;
  throw new TypeError(`${name} must be a boolean, got ${format(value)}`);
}

function format(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** @throws TypeError if `value` is not one of `allowed`. */
export function toChoice<T extends string>(name: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value;
  throw new TypeError(`${name} must be one of ${allowed.join(', ')}, got ${JSON.stringify(value)}`);
}

/** @throws TypeError for a member that is not one of `known`. A misspelled one would get its default, and be signed. */
export function assertMembers(where: string, value: object, known: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`${where}: unknown member "${unknown}", use ${known.join(', ')}`);
}
