import type { Hex } from '../protocol/hex.ts';
import type { Allocate } from '../protocol/json.ts';
import { joinArray } from '../protocol/json.ts';
import type { PreparedOrder } from './order-json.ts';
import { renderEnd } from './order-json.ts';
import { getOrderStatus } from './status.ts';

/** A stored order whose row is damaged. */
export interface UnreadableOrder {
  readonly uid: Hex;
  readonly description: string;
}

/** The orders of one request for many UIDs. */
export interface LoadedOrders {
  readonly orders: readonly PreparedOrder[];
  readonly unreadable: readonly UnreadableOrder[];
  /** Seconds since 1970; determines the statuses. */
  readonly now: number;
}

const encoder = /* @__PURE__ */ new TextEncoder();

/**
 * Renders orders as the JSON array of `POST /api/v1/orders/by_uids`, in UTF-8.
 *
 * @param allocate - Returns the memory of the array. Default: new memory.
 */
export function renderByUids({ orders, unreadable, now }: LoadedOrders, allocate?: Allocate): Uint8Array {
  const elements = orders.map((order) => encodeElement(order, now));
  for (const error of unreadable) elements.push(encoder.encode(JSON.stringify({ error })));
  return joinArray(elements, allocate);
}

/** Returns the element of an order. A cached order is encoded again only after its status has changed. */
function encodeElement(order: PreparedOrder, now: number): Uint8Array {
  const status = getOrderStatus(order, now);
  if (order.element?.status !== status) {
    const { head, middle, tail } = order;
    const json = `{"order":${head}${middle}${status}${tail}${renderEnd(order, status)}}`;
    order.element = { status, bytes: encoder.encode(json) };
  }
  return order.element.bytes;
}
