import type { Hex } from '../protocol/hex.ts';
import type { PreparedOrder } from './order-json.ts';
import { renderEnd } from './order-json.ts';
import { getOrderStatus, ORDER_STATUSES } from './status.ts';

/** An order whose row is there, but damaged. */
export interface UnreadableOrder {
  readonly uid: Hex;
  readonly description: string;
}

/** What became of many orders that were asked for. */
export interface GatheredOrders {
  /** From memory: these have been asked for before, and will be again. */
  readonly cached: readonly PreparedOrder[];
  readonly loaded: readonly PreparedOrder[];
  readonly unreadable: readonly UnreadableOrder[];
  /** Seconds since 1970, by which statuses are derived. */
  readonly now: number;
}

const encoder = /* @__PURE__ */ new TextEncoder();
const [BEGIN, COMMA, END] = [0x5b, 0x2c, 0x5d]; // [ , ]
const BEFORE_ORDER_BYTES = /* @__PURE__ */ encoder.encode('{"order":');
const CLOSE_BOTH = /* @__PURE__ */ encoder.encode('}}');
const STATUS_BYTES = /* @__PURE__ */ new Map(ORDER_STATUSES.map((status) => [status, encoder.encode(status)]));

/**
 * Renders orders as the JSON array that by_uids answers (contract, "POST /api/v1/orders/by_uids"), in UTF-8. It is
 * written straight into bytes: joined as text, all of it would be copied three times before it is on the wire. What is
 * in memory is encoded once for all answers.
 */
export function renderByUids({ cached: kept, loaded: fresh, unreadable: damaged, now }: GatheredOrders): Uint8Array {
  const page = new JsonArrayWriter();
  for (const order of kept) {
    const status = getOrderStatus(order, now);
    const { head, tail } = bytesOf(order);
    page.separate();
    page.bytes(BEFORE_ORDER_BYTES);
    page.bytes(head);
    page.bytes(STATUS_BYTES.get(status) ?? encoder.encode(status));
    page.bytes(tail);
    if (order.quote === null) page.bytes(CLOSE_BOTH);
    else page.text(`${renderEnd(order, status)}}`);
  }
  for (const order of fresh) {
    const status = getOrderStatus(order, now);
    page.separate();
    page.bytes(BEFORE_ORDER_BYTES);
    page.text(order.head); // by itself: joined with anything it would be copied first
    page.text(`${order.middle}${status}${order.tail}${renderEnd(order, status)}}`);
  }
  for (const error of damaged) {
    page.separate();
    page.text(JSON.stringify({ error }));
  }
  return page.finish();
}

function bytesOf(order: PreparedOrder) {
  order.bytes ??= { head: encoder.encode(order.head + order.middle), tail: encoder.encode(order.tail) };
  return order.bytes;
}

/** What pages are written on, one after the other: no page is waited for while it is written. */
let buffer = new Uint8Array(64 * 1024);
const MAX_BUFFER_BYTES = 1024 * 1024;

/** A JSON array in the making. */
class JsonArrayWriter {
  #used = 0;

  separate(): void {
    this.#reserve(1);
    buffer[this.#used] = this.#used === 0 ? BEGIN : COMMA;
    this.#used++;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    buffer.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  text(text: string): void {
    this.#reserve(3 * text.length); // no letter takes more bytes of UTF-8
    this.#used += encoder.encodeInto(text, buffer.subarray(this.#used)).written;
  }

  finish(): Uint8Array {
    if (this.#used === 0) this.separate();
    this.#reserve(1);
    buffer[this.#used++] = END;
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
