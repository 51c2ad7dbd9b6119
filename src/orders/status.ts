import type { CancelRejection, OrderState } from '../ports/store.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import { isEcdsa } from '../protocol/signature.ts';

/** The status of an order on the wire. */
export const ORDER_STATUSES = ['presignaturePending', 'open', 'fulfilled', 'cancelled', 'expired'] as const;
/** How an order stands at a moment, derived from what is known and the time (decision 2.22): the first that holds. */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/**
 * Derives an order's status, first match wins: fulfilled, cancelled, expired, presignaturePending, open. An order whose
 * `validTo` equals `now` is not expired yet.
 *
 * @param now seconds since 1970.
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

/** What decides whether an order can be cancelled by a signature of its owner. */
export interface CancellableOrder {
  readonly state: OrderState;
  readonly validTo: number;
  readonly signingScheme: SigningScheme;
  /** It was swept up as expired (`OrderStore.expire`), which stands whatever a clock says that is behind. */
  readonly expiryRecorded?: boolean;
}

/**
 * Judges whether an order can be cancelled off chain. Only orders that a key has signed can; the others are cancelled
 * on chain.
 *
 * @param order `undefined` when there is no such order.
 */
export function checkCancellable(order: CancellableOrder | undefined, now: number): CancelRejection | undefined {
  if (order === undefined) return 'missing';
  const status = order.expiryRecorded ? 'expired' : getOrderStatus(order, now);
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
