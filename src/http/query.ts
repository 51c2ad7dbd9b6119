import { chainByName } from '../protocol/chains.ts';
import { invalidParameter } from '../validation/options.ts';

export const LAST_EVENT_ID = 'lastEventId';

/**
 * Reads a query parameter that may occur once.
 *
 * @returns `undefined` if the parameter is absent.
 * @throws OrderBookError `InvalidParameter` if it occurs more than once.
 */
export function queryText(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  if (more.length > 0) throw invalidParameter(name, 'is given more than once');
  return value;
}

/**
 * Reads a query parameter that must be a whole number of at most 15 digits.
 *
 * @returns `undefined` if the parameter is absent.
 * @throws OrderBookError `InvalidParameter` if it is malformed or occurs more than once.
 */
export function queryInteger(query: URLSearchParams, name: string): number | undefined {
  const text = queryText(query, name);
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw invalidParameter(name, 'must be a whole number');
  return Number(text);
}

/**
 * Parses a chain id from a path.
 *
 * @throws OrderBookError `InvalidParameter` if the text is not a positive whole number.
 */
export function parseChainId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw invalidParameter('chainId', 'must be a whole number');
}

/**
 * Parses a chain id or the name of a chain, such as `sepolia` or `gnosis`.
 *
 * @returns `undefined` for a name that is not known.
 * @throws OrderBookError `InvalidParameter` if the text is neither.
 */
export function parseChain(text: string): number | undefined {
  return /^[a-z][0-9a-z_-]{2,29}$/.test(text) ? chainByName(text)?.chainId : parseChainId(text);
}
