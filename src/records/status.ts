import type { NewOrder, OrderState } from '../ports/order-record.ts';
import type { CancelRejection } from '../ports/store.ts';
import { isEcdsa, type SigningScheme } from '../protocol/signature.ts';

/** The status of an order in wire format. */
export const ORDER_STATUSES = ['presignaturePending', 'open', 'fulfilled', 'cancelled', 'expired'] as const;
/** The status of an order at a given time, derived from its state. See docs/internals/decisions.md#d2-22. */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/**
 * Derives an order's status; the first match applies: fulfilled, cancelled, expired, presignaturePending, open. An
 * order whose `validTo` equals `now` is not expired.
 *
 * @param now - Seconds since 1970.
 */
export function getOrderStatus(
  order: { readonly state: OrderState; readonly validTo: number },
  now: number,
): OrderStatus {
  switch (order.state) {
    case 'fulfilled':
    case 'cancelled':
      return order.state;
    case 'presignaturePending':
    case 'open':
      return order.validTo < now ? 'expired' : order.state;
  }
}

/**
 * Returns the time from which retention counts the age of an order and of its document, in seconds since 1970: the end
 * of the order, or its creation if that is later. An order can be placed on chain after its end.
 */
export function getEndTime({ validTo, creationDate }: Pick<NewOrder, 'validTo' | 'creationDate'>): number {
  return Math.max(validTo, Math.floor(creationDate / 1000));
}

/** The values that determine whether the owner can cancel an order by signature. */
export interface CancellableOrder {
  readonly state: OrderState;
  readonly validTo: number;
  readonly signingScheme: SigningScheme;
}

/**
 * Checks whether an order can be cancelled off chain. This requires an ECDSA signature; other orders are cancelled on
 * chain. A recorded expiry does not matter: a clock that was ahead may have recorded it.
 *
 * @param order - `undefined` if there is no such order.
 * @param now - Seconds since 1970.
 * @returns The reason why it cannot be cancelled, or `undefined`.
 */
export function checkCancellable(order: CancellableOrder | undefined, now: number): CancelRejection | undefined {
  if (order === undefined) return 'missing';
  const status = getOrderStatus(order, now);
  switch (status) {
    case 'fulfilled':
    case 'cancelled':
    case 'expired':
      return status;
    case 'presignaturePending':
      return 'on-chain';
    case 'open':
      return isEcdsa(order.signingScheme) ? undefined : 'on-chain';
  }
}
