import { OrderBookError } from '../errors.ts';
import { type Hex, parseHex } from './hex.ts';

/**
 * Returns a transaction hash in lower case.
 *
 * @throws OrderBookError `InvalidParameter` if the text is not 0x and 64 hex digits.
 */
export function requireTransactionHash(text: string): Hex {
  const hash = parseHex(text, 32);
  if (hash !== undefined) return hash;
  throw new OrderBookError('InvalidParameter', 'hash: must be 0x and 64 hex digits', { parameter: 'hash' });
}
