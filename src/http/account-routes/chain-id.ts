import { OrderBookError } from '../../errors.ts';

/**
 * Reads the number of a chain from a path.
 *
 * @throws OrderBookError `InvalidParameter` when it is none.
 */
export function parseChainId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new OrderBookError('InvalidParameter', 'chainId: must be a whole number', { parameter: 'chainId' });
}
