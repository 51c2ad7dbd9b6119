import type { Hex } from '../protocol/hex.ts';
import { type OrderStreamFilter, STREAM_FILTERS } from '../records/order-stream-filter.ts';
import type { Order } from '../records/wire-order.ts';
import {
  assertKnownFilters,
  getFilterNames,
  invalidParameter,
  requireAddress,
  requireUid,
} from '../validation/options.ts';
import { ALL_ORDERS, toOwnerKey, toUidKey } from './order-log.ts';
import type { StreamEvent } from './stream.ts';

/** An event of an order stream. `id` is a position in the event log, from which a client can resume. */
export type OrderStreamEvent =
  /** The order changed. `order` is its current state. */
  | { readonly type: 'order'; readonly id: number; readonly order: Order }
  /** The order was deleted because the block that had placed it was reverted. */
  | { readonly type: 'withdrawn'; readonly id: number; readonly uid: Hex }
  /** The entries from `from` to `to` are left out: the client was too slow, or disconnected for too long. */
  | { readonly type: 'gap'; readonly from: number; readonly to: number };

/**
 * Returns the subscription key of a filter.
 *
 * @throws OrderBookError `InvalidParameter` if both `owner` and `uid` are given, or a filter is unknown or malformed.
 */
export function getOrderStreamKey(filter: OrderStreamFilter): string {
  assertKnownFilters(getFilterNames(filter), STREAM_FILTERS);
  const { owner, uid } = filter;
  if (owner !== undefined && uid !== undefined) {
    throw invalidParameter('owner', 'give either an owner or a uid');
  }
  if (owner === undefined && uid === undefined) return ALL_ORDERS;
  if (uid !== undefined) return toUidKey(requireUid(uid));
  return toOwnerKey(requireAddress('owner', owner));
}

export function toOrderStreamEvent(event: StreamEvent): OrderStreamEvent {
  if (event.type === 'gap') return event;
  const { id, data } = event;
  // The texts were rendered from values of these types.
  if (event.event === 'withdrawn') return { type: 'withdrawn', id, uid: (JSON.parse(data) as { id: Hex }).id };
  return { type: 'order', id, order: JSON.parse(data) as Order };
}
