import type { Hex } from '../protocol/hex.ts';
import type { Allocate } from '../protocol/json.ts';
import { joinArray } from '../protocol/json.ts';
import type { PreparedOrder } from './order-json.ts';
import { renderEnd } from './order-json.ts';
import type { OrderStatus } from './status.ts';
import { getOrderStatus } from './status.ts';

/** A stored order whose row is damaged. */
export interface UnreadableOrder {
  readonly uid: Hex;
  readonly description: string;
}

/** An order that was read from the store. */
export interface ReadOrder {
  readonly order: PreparedOrder;
  /** Its body in UTF-8, if the store has read bytes. */
  readonly encodedBody: Uint8Array | undefined;
}

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

const encoder = /* @__PURE__ */ new TextEncoder();

/**
 * Renders orders as the JSON array of `POST /api/v1/orders/by_uids`, in UTF-8.
 *
 * @param allocate - Returns the memory of the array. Default: new memory.
 */
export function renderByUids({ cached, read, unreadable, now }: LoadedOrders, allocate?: Allocate): Uint8Array {
  const chunks = cached.map((order) => encodeElement(order, now));
  if (read.length > 0 || unreadable.length > 0) appendRead(chunks, read, unreadable, now);
  return joinArray(chunks, allocate);
}

/** Returns the element of a cached order. It is encoded again only after its status has changed. */
function encodeElement(order: PreparedOrder, now: number): Uint8Array {
  const status = getOrderStatus(order, now);
  if (order.element?.status !== status) {
    const json = `${ELEMENT}${order.head}${renderMembers(order, status)}`;
    order.element = { status, bytes: encoder.encode(json) };
  }
  return order.element.bytes;
}

const ELEMENT = ',{"order":';

/** Renders what follows the `head` of an order in its element. */
function renderMembers(order: PreparedOrder, status: OrderStatus): string {
  return `${order.middle}${status}${order.tail}${renderEnd(order, status)}}`;
}

/**
 * Appends elements that are not encoded yet. The heads are copied, if the store has read them as bytes. The texts
 * between them are encoded at once, which takes a fifth of the time of encoding each.
 */
function appendRead(
  chunks: Uint8Array[],
  orders: readonly ReadOrder[],
  unreadable: readonly UnreadableOrder[],
  now: number,
): void {
  const texts: string[] = [];
  const heads: Uint8Array[] = [];
  let text = '';
  for (const { order, encodedBody } of orders) {
    text += ELEMENT;
    if (encodedBody === undefined) text += order.head;
    else {
      texts.push(text);
      heads.push(encodedBody.subarray(0, -1));
      text = '';
    }
    text += renderMembers(order, getOrderStatus(order, now));
  }
  texts.push(text + unreadable.map((error) => `,${JSON.stringify({ error })}`).join(''));
  const encoded = encodeTexts(texts);
  for (const [i, chunk] of encoded.entries()) {
    chunks.push(chunk);
    const head = heads[i];
    if (head !== undefined) chunks.push(head);
  }
}

function encodeTexts(texts: readonly string[]): Uint8Array[] {
  const joined = texts.join('');
  const bytes = encoder.encode(joined);
  if (bytes.length !== joined.length) return texts.map((text) => encoder.encode(text));
  let end = 0;
  return texts.map(({ length }) => {
    end += length;
    return bytes.subarray(end - length, end);
  });
}
