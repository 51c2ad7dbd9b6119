import { chainById, NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';

/** Returns the wrapped token for native currency, which has the same price. Other tokens stay as they are. */
export function toWrapped(chainId: number, token: Address): Address {
  return token === NATIVE_MARKER ? (chainById(chainId)?.wrappedNative ?? token) : token;
}
