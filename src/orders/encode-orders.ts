import { getOrderStatus, type PreparedOrder, renderEnd } from '../records/order-json.ts';
import type { OrderStatus } from '../records/wire-order.ts';

/** An order that was read from the store. */
export interface ReadOrder {
  readonly order: PreparedOrder;
  /** Its body in UTF-8, if the store has read bytes. */
  readonly encodedBody: Uint8Array | undefined;
}

/** The texts around an order in a JSON array. Each element begins with a comma, also the first one. */
export interface ElementForm {
  readonly before: string;
  readonly after: string;
}

const encoder = /* @__PURE__ */ new TextEncoder();

/** Encodes an order as an element of a JSON array. */
export function encodeOrder(order: PreparedOrder, status: OrderStatus, form: ElementForm): Uint8Array {
  return encoder.encode(`${form.before}${order.head}${renderMembers(order, status, form)}`);
}

/**
 * Encodes orders as elements of a JSON array, in chunks. The heads are copied, if the store has read them as bytes. The
 * texts between them are encoded at once, which takes a fifth of the time of encoding each.
 *
 * @param now - Seconds since 1970; determines the statuses.
 * @param end - Text that follows the last order.
 */
export function encodeOrders(orders: readonly ReadOrder[], form: ElementForm, now: number, end = ''): Uint8Array[] {
  const texts: string[] = [];
  const heads: Uint8Array[] = [];
  let text = '';
  for (const { order, encodedBody } of orders) {
    text += form.before;
    if (encodedBody === undefined) text += order.head;
    else {
      texts.push(text);
      heads.push(encodedBody.subarray(0, -1));
      text = '';
    }
    text += renderMembers(order, getOrderStatus(order, now), form);
  }
  texts.push(text + end);
  return encodeTexts(texts).flatMap((chunk, i) => {
    const head = heads[i];
    return head === undefined ? [chunk] : [chunk, head];
  });
}

/** Renders the text that follows the `head` of an order in its element. */
function renderMembers(order: PreparedOrder, status: OrderStatus, { after }: ElementForm): string {
  return `${order.middle}${status}${order.tail}${renderEnd(order, status)}${after}`;
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
