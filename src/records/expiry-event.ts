import type { OrderChainEvent } from '../ports/chain-store.ts';
import type { NewOrder } from '../ports/order-record.ts';
import type { NewEvent } from '../ports/store.ts';
import { type Hex, unpackUid } from '../protocol/hex.ts';

/** Creates the log entry of an expiry, dated to the first second after `validTo`. */
export function createExpiryEvent(uid: Hex, validTo: number): NewEvent {
  return { type: 'expired', uid, owner: unpackUid(uid).owner, at: (validTo + 1) * 1000 };
}

/**
 * Returns whether the expiry of an order is emitted. It is not for an order that was never signed on chain. See
 * docs/internals/decisions.md#d5-1.
 *
 * @param events - All chain events of the order.
 */
export function emitsExpiry(
  { signingScheme }: Pick<NewOrder, 'signingScheme'>,
  events: readonly OrderChainEvent[],
): boolean {
  return signingScheme !== 'presign' || events.some((event) => event.type === 'presignature' && event.signed);
}

/**
 * Returns the version of a row that is inserted for a placement. Such a row may be deleted and inserted again. Its
 * versions start above 2³² plus the newest log id, so that an ETag never repeats. Other rows start at 1.
 *
 * @param lastEventId - Id of the newest log entry.
 */
export function getPlacementVersion(lastEventId: number): number {
  return 2 ** 32 + lastEventId;
}
