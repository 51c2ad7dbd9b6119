import { type Allocate, joinArray } from '../protocol/json.ts';
import type { PreparedOrder, UnreadableOrder } from '../records/order-json.ts';
import { getOrderStatus } from '../records/status.ts';
import { type ElementForm, encodeOrder, encodeOrders, type ReadOrder } from './encode-orders.ts';

/** The orders of one request for many UIDs. */
export interface LoadedOrders {
  /** Orders of the cache. */
  readonly cached: readonly PreparedOrder[];
  /** Orders read from the store. */
  readonly read: readonly ReadOrder[];
  readonly unreadable: readonly UnreadableOrder[];
  /** Seconds since 1970; determines the statuses. */
  readonly now: number;
}

const FORM: ElementForm = { before: ',{"order":', after: '}' };

/**
 * Renders orders as the JSON array of `POST /api/v1/orders/by_uids`, in UTF-8.
 *
 * @param allocate - Returns the memory of the array. Default: new memory.
 */
export function renderByUids({ cached, read, unreadable, now }: LoadedOrders, allocate?: Allocate): Uint8Array {
  const chunks = cached.map((order) => encodeElement(order, now));
  if (read.length > 0 || unreadable.length > 0) {
    const errors = unreadable.map((error) => `,${JSON.stringify({ error })}`).join('');
    chunks.push(...encodeOrders(read, FORM, now, errors));
  }
  return joinArray(chunks, allocate);
}

/** Returns the element of a cached order. It is encoded again only after its status has changed. */
function encodeElement(order: PreparedOrder, now: number): Uint8Array {
  const status = getOrderStatus(order, now);
  if (order.element?.status !== status) order.element = { status, bytes: encodeOrder(order, status, FORM) };
  return order.element.bytes;
}
