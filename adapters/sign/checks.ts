import type { Hex } from './types.ts';

/**
 * @throws TypeError if `value` is not a bigint or decimal text from 0 to 2^256 − 1. Numbers are rejected, because most
 * amounts exceed 2^53.
 */
export function toAmount(name: string, value: string | bigint): bigint {
  const amount = typeof value === 'string' && /^[0-9]+$/.test(value) ? BigInt(value) : value;
  if (typeof amount === 'bigint' && amount >= 0n && amount < 2n ** 256n) return amount;
  throw new TypeError(`${name} must be whole atoms below 2^256, as a bigint or a text of digits, got ${format(value)}`);
}

/** @throws TypeError if `value` is not a time in whole seconds since 1970, as a uint32. */
export function toSeconds(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff) return value;
  const hint = typeof value === 'number' && value > 0xffff_ffff ? ', which looks like milliseconds' : '';
  throw new TypeError(`${name} must be a number of whole seconds since 1970, got ${format(value)}${hint}`);
}

/** Parses hex of `size` bytes, converted to lower case. */
export function toHex(name: string, value: string, size: number): Hex {
  if (isHex(value, size)) return value.toLowerCase() as Hex;
  throw new TypeError(`${name} must be 0x and ${size * 2} hex digits, got ${format(value)}`);
}

/** Checks whether a text is hex of `size` bytes. */
export function isHex(value: unknown, size: number): value is Hex {
  return typeof value === 'string' && value.length === 2 + 2 * size && /^0x[0-9a-fA-F]*$/.test(value);
}

/** @throws TypeError if `value` is not a whole number from `least` to `most`. */
export function toInteger(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new TypeError(`${name} must be an integer from ${least} to ${most}, got ${format(value)}`);
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

/** Formats a value for a message. A text is quoted, so that it differs from a number. */
export function format(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'number') return `the number ${value}`;
  if (value === null || typeof value !== 'object') return String(value);
  return value instanceof Date ? 'a Date' : Array.isArray(value) ? 'a list' : 'an object';
}

/** @throws TypeError if `value` is not one of `allowed`. */
export function toChoice<T extends string>(name: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value;
  throw new TypeError(`${name} must be one of ${allowed.join(', ')}, got ${format(value)}`);
}

/** Returns a value that must be an object. @throws TypeError with the members that it has. */
export function assertObject<T extends object>(where: string, value: T, members: string): T {
  if (typeof value === 'object' && value !== null) return value;
  throw new TypeError(`${where}: must be an object with ${members}, got ${format(value)}`);
}

/** @throws TypeError for a member that is not one of `known`. A misspelled one would get its default, and be signed. */
export function assertMembers(where: string, value: object, known: readonly string[]): void {
  assertObject(where, value, known.join(', '));
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`${where}: unknown member "${unknown}", use ${known.join(', ')}`);
}
