import type { Hex } from '../protocol/hex.ts';
import type { PreparedOrder } from './order-json.ts';
import { renderEnd } from './order-json.ts';
import { getOrderStatus, ORDER_STATUSES } from './status.ts';

/** A stored order whose row is damaged. */
export interface UnreadableOrder {
  readonly uid: Hex;
  readonly description: string;
}

/** The orders of one request for many UIDs. */
export interface LoadedOrders {
  /** Orders from the cache, whose encoding is reused. */
  readonly cached: readonly PreparedOrder[];
  readonly loaded: readonly PreparedOrder[];
  readonly unreadable: readonly UnreadableOrder[];
  /** Seconds since 1970; determines the statuses. */
  readonly now: number;
}

const encoder = /* @__PURE__ */ new TextEncoder();
const [OPEN_BRACKET, COMMA, CLOSE_BRACKET] = [0x5b, 0x2c, 0x5d]; // [ , ]
const BEFORE_ORDER_BYTES = /* @__PURE__ */ encoder.encode('{"order":');
const CLOSE_BOTH = /* @__PURE__ */ encoder.encode('}}');
const STATUS_BYTES = /* @__PURE__ */ new Map(ORDER_STATUSES.map((status) => [status, encoder.encode(status)]));

/**
 * Renders orders as the JSON array of `POST /api/v1/orders/by_uids`, in UTF-8. The array is written directly into
 * bytes, because joined text would be copied three times. Cached orders are encoded once for all responses.
 */
export function renderByUids({ cached, loaded, unreadable, now }: LoadedOrders): Uint8Array {
  const page = new JsonArrayWriter();
  for (const order of cached) {
    const status = getOrderStatus(order, now);
    const { head, tail } = getBytes(order);
    page.separate();
    page.bytes(BEFORE_ORDER_BYTES);
    page.bytes(head);
    page.bytes(STATUS_BYTES.get(status) ?? encoder.encode(status));
    page.bytes(tail);
    if (order.quote === null) page.bytes(CLOSE_BOTH);
    else page.text(`${renderEnd(order, status)}}`);
  }
  for (const order of loaded) {
    const status = getOrderStatus(order, now);
    page.separate();
    page.bytes(BEFORE_ORDER_BYTES);
    page.text(order.head); // separate, because concatenation would copy it first
    page.text(`${order.middle}${status}${order.tail}${renderEnd(order, status)}}`);
  }
  for (const error of unreadable) {
    page.separate();
    page.text(JSON.stringify({ error }));
  }
  return page.finish();
}

function getBytes(order: PreparedOrder) {
  order.bytes ??= { head: encoder.encode(order.head + order.middle), tail: encoder.encode(order.tail) };
  return order.bytes;
}

/** The buffer for all pages. It can be shared because a page is written synchronously. */
let buffer = new Uint8Array(64 * 1024);
const MAX_BUFFER_BYTES = 1024 * 1024;

/** Writes a JSON array into the shared buffer. */
class JsonArrayWriter {
  #used = 0;

  separate(): void {
    this.#reserve(1);
    buffer[this.#used] = this.#used === 0 ? OPEN_BRACKET : COMMA;
    this.#used++;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    buffer.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  text(text: string): void {
    this.#reserve(3 * text.length); // UTF-8 needs at most three bytes per UTF-16 code unit
    this.#used += encoder.encodeInto(text, buffer.subarray(this.#used)).written;
  }

  finish(): Uint8Array {
    if (this.#used === 0) this.separate();
    this.#reserve(1);
    buffer[this.#used++] = CLOSE_BRACKET;
    const page = buffer.slice(0, this.#used);
    if (buffer.length > MAX_BUFFER_BYTES) buffer = new Uint8Array(64 * 1024);
    return page;
  }

  #reserve(size: number): void {
    const needed = this.#used + size;
    if (needed <= buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * buffer.length));
    larger.set(buffer.subarray(0, this.#used));
    buffer = larger;
  }
}
