import type { Address } from 'intentbook';
import { parseHex } from '#internal';

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
