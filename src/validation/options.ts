import { OrderBookError } from '../errors.ts';
import { CHAINS } from '../protocol/chains.ts';
import { formatSecret, formatValue } from '../protocol/format-value.ts';
import { type Address, type Hex, parseHex, UID_SIZE } from '../protocol/hex.ts';

/** The members of an object, or of any type of a union. */
type Names<T> = T extends unknown ? keyof T : never;

/**
 * Rejects unknown options and suggests the most similar known name, so that a misspelled option is not ignored.
 *
 * @param known - All names. The compiler rejects a list that lacks one.
 * @throws TypeError naming the unknown option, or if the options are not an object.
 */
export function assertKnownOptions<T extends object, const Known extends readonly string[]>(
  where: string,
  options: T,
  known: Known &
    (Exclude<Names<T>, Known[number]> extends never ? unknown : { missing: Exclude<Names<T>, Known[number]> }),
): void {
  assertOptionsObject(where, options, known[0]);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const text = formatUnknownName('option', name, known);
    throw new TypeError(`${where}: ${text}${text.endsWith('?') ? '' : `, use ${known.join(', ')}`}`);
  }
}

/** Checks that options are an object. @throws TypeError with the name of one option. */
export function assertOptionsObject(where: string, options: unknown, example = 'signal'): void {
  if (typeof options === 'object' && options !== null) return;
  const text = typeof options === 'string' ? JSON.stringify(options) : String(options);
  throw new TypeError(`${where}: options must be an object such as { ${example} }, got ${text}`);
}

/**
 * Checks that a required option has functions. Without this check, a wrong value would fail at its first use.
 * The value is not rendered: the URL of a node often contains a key.
 *
 * @param option - The function that was called and the option: `createOrderBook: logger`.
 * @throws TypeError naming the option.
 */
export function requireFunctions(option: string, value: object | undefined, functions: readonly string[]): void {
  const members = Object(value) as Readonly<Record<string, unknown>>; // a value of JavaScript may be anything
  if (functions.every((name) => typeof members[name] === 'function')) return;
  const expected = functions.map((name) => `${name}()`).join(', ');
  throw new TypeError(`${option} must be an object with ${expected}, got ${formatSecret(value)}`);
}

/** Checks an option that may be absent like `requireFunctions`. */
export function assertFunctions(option: string, value: object | undefined, functions: readonly string[]): void {
  if (value !== undefined) requireFunctions(option, value, functions);
}

/** Checks an option that must be a function. @throws TypeError naming the option. */
export function requireFunction(option: string, value: unknown): void {
  if (typeof value !== 'function') throw new TypeError(`${option} must be a function, got ${formatSecret(value)}`);
}

/** Returns the rows of an option that must be a table. @throws TypeError naming the option. */
export function requireTable<T>(option: string, table: Readonly<Record<string, T>>): [name: string, row: T][] {
  if (typeof table === 'object' && table !== null) return Object.entries(table);
  throw new TypeError(`${option} must be an object, got ${formatValue(table)}`);
}

/** Maximum delay of timers on common platforms, in milliseconds. */
export const MAX_TIMER = 2 ** 31 - 1;

/**
 * Returns an option that must be an integer in a range.
 *
 * @param option - The function that was called and the option: `viemChain: signatureGas`.
 * @throws TypeError naming the option.
 */
export function requireInteger(
  option: string,
  value: unknown,
  least = 1,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  const number = value as number; // compared only if it is an integer
  if (Number.isSafeInteger(value) && number >= least && number <= most) return number;
  const range = most === Number.MAX_SAFE_INTEGER ? 'up' : `to ${most}`;
  throw new TypeError(`${option} must be an integer from ${least} ${range}, got ${formatValue(value)}`);
}

/** Checks an option that must be a chain id. @throws TypeError naming the option, with the id of a known chain. */
export function requireChainOption(option: string, chainId: unknown): void {
  const known = CHAINS.find(({ segment }) => segment === chainId);
  if (known !== undefined) throw new TypeError(`${option} must be ${known.chainId} for "${known.segment}"`);
  requireInteger(option, chainId);
}

/** Returns an option that must be one of some texts. @throws TypeError naming the option. */
export function requireMember<T extends string>(option: string, allowed: readonly T[], value: T): T {
  if (allowed.includes(value)) return value;
  throw new TypeError(`${option} must be one of ${allowed.join(', ')}, got ${formatValue(value)}`);
}

/**
 * Parses an address in any letter case, to lower case.
 *
 * @throws TypeError if an option is not an address.
 */
export function parseAddress(where: string, name: string, value: string): Address {
  const address = parseHex(value, 20);
  if (address !== undefined) return address;
  throw new TypeError(`${where}: ${name} must be 0x and 40 hex digits, got ${formatValue(value)}`);
}

/**
 * Parses the path prefix of a mount. Trailing slashes are removed.
 *
 * @throws TypeError if a client sends another path for it.
 */
export function parsePrefix(where: string, prefix = ''): string {
  if (prefix === '') return prefix;
  if (new URL(prefix, 'ws://a').pathname === prefix) return prefix.replace(/\/+$/, '');
  throw new TypeError(`${where}: prefix must be a path, got ${formatValue(prefix)}`);
}

/**
 * Maximum length of a name for which suggestions are computed, because their cost grows with the product of the
 * lengths.
 */
const MAX_NAME_LENGTH = 64;

/** Formats the error text for an unknown name, with the most similar known name. */
export function formatUnknownName(what: string, name: string, known: readonly string[]): string {
  if (name.length > MAX_NAME_LENGTH) return `unknown ${what} "${name.slice(0, MAX_NAME_LENGTH)}…"`;
  const similar = findSimilarName(name, known);
  return `unknown ${what} "${name}"${similar === undefined ? '' : `, did you mean "${similar}"?`}`;
}

/** Returns the most similar known name, if it is similar enough to be meant. The name must be short. */
export function findSimilarName(name: string, known: readonly string[]): string | undefined {
  const nearest = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return nearest && nearest.distance <= Math.max(2, name.length / 3) ? nearest.candidate : undefined;
}

/** Returns the number of characters to insert, delete or replace to convert one text into the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

/**
 * Rejects unknown filters, which would otherwise select more than the caller expects.
 *
 * @throws OrderBookError `InvalidParameter` with the most similar known name.
 */
export function assertKnownFilters(given: Iterable<string>, known: readonly string[]): void {
  for (const name of given) {
    // The name is the client's and may be long.
    if (!known.includes(name)) throw invalidParameter(name.slice(0, 64), formatUnknownName('filter', name, known));
  }
}

/** Returns the names of filters. @throws OrderBookError `InvalidParameter` if the filters are not an object. */
export function getFilterNames(filters: object): string[] {
  if (typeof filters === 'object' && filters !== null) return Object.keys(filters);
  throw invalidParameter('filter', `must be an object, got ${formatValue(filters)}`);
}

/** Checks a list of a JavaScript caller. @throws OrderBookError `InvalidParameter` if it is not an array. */
export function requireList<T>(name: string, list: readonly T[]): readonly T[] {
  if (Array.isArray(list)) return list;
  throw invalidParameter(name, `must be a list, got ${formatValue(list)}`);
}

/** Creates the error of a filter whose value is not valid. */
export function invalidParameter(parameter: string, reason: string): OrderBookError {
  return new OrderBookError('InvalidParameter', `${parameter}: ${reason}`, { parameter });
}

/** Parses an address. @throws OrderBookError `InvalidParameter` with the name of the parameter. */
export const requireAddress = (parameter: string, text: unknown): Address => requireHex(parameter, text, 20);

/** Parses a UID and returns it in lower case. @throws OrderBookError `InvalidParameter` if it is not a valid UID. */
export const requireUid = (text: string): Hex => requireHex('uid', text, UID_SIZE);

/** Parses a transaction hash. @throws OrderBookError `InvalidParameter` if the text is not a valid hash. */
export const requireTransactionHash = (text: string): Hex => requireHex('hash', text, 32);

/** Parses hex of a size in bytes, to lower case. @throws OrderBookError `InvalidParameter` if it is not valid. */
export function requireHex(parameter: string, text: unknown, size: number): Hex {
  const hex = parseHex(text, size);
  if (hex !== undefined) return hex;
  throw invalidParameter(parameter, `must be 0x and ${2 * size} hex digits, got ${formatValue(text)}`);
}
