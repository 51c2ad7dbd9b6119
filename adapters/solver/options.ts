import type { Address } from 'intentbook';
import { formatSecret, parseHex } from '#internal';

/**
 * Parses an address in any letter case. The tokens of an auction are in lower case, and are compared as texts.
 *
 * @throws TypeError if an option is not an address.
 */
export function parseAddress(caller: string, name: string, value: string): Address {
  const address = parseHex(value, 20);
  if (address !== undefined) return address;
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  throw new TypeError(`${caller}: ${name} must be 0x and 40 hex digits, got ${text}`);
}

/**
 * Checks a required option with functions. The value is not rendered: the URL of a node often contains a key.
 *
 * @param option - The function that was called and the option: `createSolver: engine`.
 * @throws TypeError if a function is missing.
 */
export function requireFunctions(option: string, value: object, functions: readonly string[]): void {
  const members = Object(value) as Readonly<Record<string, unknown>>; // a value of JavaScript may be anything
  if (functions.every((name) => typeof members[name] === 'function')) return;
  const expected = functions.map((name) => `${name}()`).join(', ');
  throw new TypeError(`${option} must be an object with ${expected}, got ${formatSecret(value)}`);
}
