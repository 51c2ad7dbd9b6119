import { type ErrorCode, OrderBookError } from '../errors.ts';
import type { CancelRejection } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';

/** Maximum number of UIDs in one request. */
export const MAX_UIDS = 128;

/** The error codes for the store's reasons. */
export const CANCEL_ERRORS: Readonly<Record<CancelRejection, ErrorCode>> = {
  missing: 'OrderNotFound',
  fulfilled: 'OrderFullyExecuted',
  cancelled: 'AlreadyCancelled',
  expired: 'OrderExpired',
  'on-chain': 'OnChainOrder',
};

/**
 * Creates the rejection of a list with too many UIDs. It is checked before any UID is decoded.
 *
 * @param count - Number of UIDs, if the list was parsed.
 */
export function createTooManyUidsError(count?: number): OrderBookError {
  const message = `orderUids must contain at most ${MAX_UIDS} UIDs`;
  if (count === undefined) return new OrderBookError('TooManyOrderUids', message, { limit: MAX_UIDS });
  return new OrderBookError('TooManyOrderUids', `${message}, got ${count}`, { limit: MAX_UIDS, count });
}

/** Creates the rejection of an order that cannot replace another one. */
export function createReplacementError(uid: Hex, reason: CancelRejection): OrderBookError {
  return new OrderBookError(CANCEL_ERRORS[reason], undefined, { uid });
}
