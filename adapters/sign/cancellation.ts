import { format, toHex } from './checks.ts';
import { requireDomain } from './domain.ts';
import type { Hex, SigningDomain, TypedData } from './types.ts';

/** The EIP-712 type of a cancellation of one or more orders. */
export const CANCELLATION_TYPES = { OrderCancellations: [{ name: 'orderUids', type: 'bytes[]' }] } as const;

/** Typed data of a cancellation. */
export type CancellationTypedData = TypedData<
  typeof CANCELLATION_TYPES,
  'OrderCancellations',
  { readonly orderUids: readonly Hex[] }
>;

/**
 * Creates the typed data that cancels orders by a signature of their owner.
 *
 * ```ts
 * const signature = await account.signTypedData(cancellationTypedData(domain, [uid]));
 * await book.orders.cancel({ orderUids: [uid], signature, signingScheme: 'eip712' });
 * ```
 *
 * @param orderUids - UIDs of 56 bytes.
 * @throws TypeError if a UID or the domain is malformed, or if `orderUids` is not a list.
 */
export function cancellationTypedData(domain: SigningDomain, orderUids: readonly string[]): CancellationTypedData {
  if (!Array.isArray(orderUids)) throw new TypeError(`orderUids must be a list, got ${format(orderUids)}`);
  return {
    domain: requireDomain('cancellationTypedData', domain),
    types: CANCELLATION_TYPES,
    primaryType: 'OrderCancellations',
    message: { orderUids: orderUids.map((uid, i) => toHex(`orderUids[${i}]`, uid, 56)) },
  };
}
