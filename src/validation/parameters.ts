import { OrderBookError } from '../errors.ts';
import { type Address, parseHex } from '../protocol/hex.ts';

/** Parses the address of an account. @throws OrderBookError `InvalidParameter` if the text is not a valid address. */
export const requireAccount = (text: string, name = 'account'): Address => requireAddress(text, name);

/** Parses a token address. @throws OrderBookError `InvalidParameter` if the text is not a valid address. */
export const requireToken = (text: string, name = 'token'): Address => requireAddress(text, name);

/** Validates a chain id. @throws OrderBookError `InvalidParameter` if it is not a positive safe integer. */
export function requireChainId(chainId: number): number {
  if (Number.isSafeInteger(chainId) && chainId > 0) return chainId;
  throw new OrderBookError('InvalidParameter', 'chainId: must be a positive integer', { parameter: 'chainId' });
}

function requireAddress(text: string, name: string): Address {
  const address = parseHex(text, 20);
  if (address !== undefined) return address;
  throw new OrderBookError('InvalidParameter', `${name}: must be 0x and 40 hex digits`, { parameter: name });
}
