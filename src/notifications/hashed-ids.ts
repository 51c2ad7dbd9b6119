import { keccak256Text } from '../crypto/keccak.ts';
import type { Subscription } from '../ports/subscription-store.ts';
import { bytesToHex } from '../protocol/hex.ts';

/** Returns 128 bits of a hash as 32 hex digits. */
export function createHashedId(parts: readonly (string | number)[]): string {
  return bytesToHex(keccak256Text(parts.join(' '))).slice(2, 34);
}

/**
 * Returns the token that removes a subscription: a keyed hash of its id. `undefined` without a secret. The key is a
 * random secret of 32 bytes, and keccak-256 is not open to length extension.
 */
export function getUnsubscribeToken({ id, secret }: Subscription): string | undefined {
  return secret === null ? undefined : createHashedId(['unsubscribe', secret, id]);
}

/** Returns the path of the page on which a recipient removes a subscription, relative to the account interface. */
export function getUnsubscribePath(subscription: Subscription): { readonly unsubscribePath?: string } {
  const token = getUnsubscribeToken(subscription);
  if (token === undefined) return {};
  const { account, id } = subscription;
  return { unsubscribePath: `/accounts/${account}/subscriptions/unsubscribe?id=${id}&token=${token}` };
}
