import type { Address } from '../protocol/hex.ts';
import { invalidParameter, requireAddress } from './options.ts';

/** Parses the address of an account. @throws OrderBookError `InvalidParameter` if the text is not a valid address. */
export const requireAccount = (text: string, name = 'account'): Address => requireAddress(name, text);

/** Parses a token address. @throws OrderBookError `InvalidParameter` if the text is not a valid address. */
export const requireToken = (text: string, name = 'token'): Address => requireAddress(name, text);

/** Validates a chain id. @throws OrderBookError `InvalidParameter` if it is not a positive safe integer. */
export function requireChainId(chainId: number): number {
  if (Number.isSafeInteger(chainId) && chainId > 0) return chainId;
  throw invalidParameter('chainId', 'must be a positive integer');
}
