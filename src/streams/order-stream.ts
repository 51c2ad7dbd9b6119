import { OrderBookError } from '../errors.ts';
import { requireUid } from '../orders/listing.ts';
import type { Order } from '../orders/order-json.ts';
import type { Hex } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import type { StreamEvent } from './broadcaster.ts';
import { OF_ALL, ofOwner, ofUid } from './order-log.ts';

/** Which orders to hear of: an account's or a single one, and without either all of the book. */
export interface OrderStreamFilter {
  /** The account that owns them or has placed them on chain. */
  readonly owner?: string;
  /** A single order. */
  readonly uid?: string;
}

/** What a stream of orders says. `id` is a place in the book's log, to come back to. */
export type OrderStreamEvent =
  /** Something has happened to the order, which is now like this. */
  | { readonly type: 'order'; readonly id: number; readonly order: Order }
  /** The order is gone with the block that had placed it on chain. */
  | { readonly type: 'withdrawn'; readonly id: number; readonly uid: Hex }
  /** The reader was too slow, or away for too long: what the log says from `from` to `to` is left out. */
  | { readonly type: 'gap'; readonly from: number; readonly to: number };

/**
 * Reads a filter, as the key of its readers.
 *
 * @throws OrderBookError `InvalidParameter` when it is both, or malformed.
 */
export function orderStreamKey({ owner, uid }: OrderStreamFilter): string {
  if (owner !== undefined && uid !== undefined) {
    throw new OrderBookError('InvalidParameter', 'owner: give either an owner or a uid', { parameter: 'owner' });
  }
  if (owner === undefined && uid === undefined) return OF_ALL;
  if (uid !== undefined) return ofUid(requireUid(uid));
  const account = parseHex(owner, 20);
  if (account !== undefined) return ofOwner(account);
  throw new OrderBookError('InvalidParameter', 'owner: must be 0x and 40 hex digits', { parameter: 'owner' });
}

/** Makes objects of what a stream says. */
export function orderStreamEvent(event: StreamEvent): OrderStreamEvent {
  if (event.type === 'gap') return event;
  const { id, data } = event;
  // Both were rendered from such values.
  if (event.event === 'withdrawn') return { type: 'withdrawn', id, uid: (JSON.parse(data) as { id: Hex }).id };
  return { type: 'order', id, order: JSON.parse(data) as Order };
}
