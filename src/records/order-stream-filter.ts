import type { OrderKind } from '../protocol/order.ts';
import type { OrderStatus } from './wire-order.ts';

/**
 * The orders of a stream: those of an account, a single one, or all orders of the book. Further filters are combined by
 * "and". They select events by the order as it is then: with `status: 'open'`, the fill of an order is not sent.
 */
export interface OrderStreamFilter {
  /** The account that owns the orders or placed them on chain. */
  readonly owner?: string;
  /** A single order. */
  readonly uid?: string;
  readonly sellToken?: string;
  readonly buyToken?: string;
  /** A token that the orders sell or buy. */
  readonly token?: string;
  /** Two tokens that the orders exchange, in either direction. */
  readonly pair?: readonly [string, string];
  readonly kind?: OrderKind;
  readonly status?: OrderStatus;
}

export const STREAM_FILTERS = [
  'owner',
  'uid',
  'sellToken',
  'buyToken',
  'token',
  'pair',
  'kind',
  'status',
] as const satisfies readonly (keyof OrderStreamFilter)[];
