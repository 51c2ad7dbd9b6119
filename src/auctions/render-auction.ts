import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Auction, AuctionOrder } from './auction-order.ts';

/** An auction as JSON in UTF-8, as the HTTP interface sends it. */
export interface RenderedAuction {
  readonly id: number;
  /** A strong entity tag. It changes with each auction. */
  readonly etag: string;
  readonly bytes: Uint8Array;
  /** Number of orders. */
  readonly size: number;
}

/** Orders that are rendered in one tick of the event loop. */
const ORDERS_PER_TICK = 100;

/** Orders that are only visited or copied in one tick. A tick takes longer than the visit of a hundred orders. */
export const VISITS_PER_TICK = 2_000;

const encoder = /* @__PURE__ */ new TextEncoder();

/** The text of each order. An order that stays in several auctions is rendered once. */
const texts = new WeakMap<AuctionOrder, string>();

/** Renders an order in ASCII, so that its length in bytes is known without encoding it. */
export function renderOrder(order: AuctionOrder): string {
  let text = texts.get(order);
  if (text === undefined) {
    const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
    text = JSON.stringify(order).replace(/[\u0080-\uffff]/g, toEscape);
    texts.set(order, text);
  }
  return text;
}

const rendered = new WeakMap<Auction, Promise<RenderedAuction>>();

/** Renders an auction, once for all callers. */
export function renderOnce(auction: Auction): Promise<RenderedAuction> {
  const known = rendered.get(auction) ?? renderAuction(auction);
  rendered.set(auction, known);
  return known;
}

/** Forgets the bytes of an auction that is not the newest any more. A caller that has them keeps them. */
export function forgetRendered(auction: Auction): void {
  rendered.delete(auction);
}

export async function renderAuction({ orders, ...members }: Auction): Promise<RenderedAuction> {
  const bytes = await renderWithOrders(members, orders);
  return { id: members.id, etag: `"auction-${members.id}"`, bytes, size: orders.length };
}

/**
 * Renders members and the list `orders` behind them in steps. The result is one allocation, into which the orders are
 * encoded.
 */
export async function renderWithOrders(members: object, orders: readonly AuctionOrder[]): Promise<Uint8Array> {
  const head = encoder.encode(`${JSON.stringify(members).slice(0, -1)},"orders":[`);
  const tail = encoder.encode(']}');
  const parts: string[] = [];
  let length = head.length + tail.length + Math.max(0, orders.length - 1);
  await inSteps(orders, (order) => {
    const part = renderOrder(order);
    parts.push(part);
    length += part.length;
  });
  const bytes = new Uint8Array(length);
  bytes.set(head);
  let at = head.length;
  await inSteps(
    parts,
    (part, i) => {
      if (i > 0) bytes[at++] = 0x2c; // ,
      at += encoder.encodeInto(part, bytes.subarray(at)).written;
    },
    VISITS_PER_TICK,
  );
  bytes.set(tail, at);
  return bytes;
}

/** Calls a function for each item, with a tick of the event loop after some of them. Default: after every 100. */
export async function inSteps<T>(
  items: readonly T[],
  visit: (item: T, index: number) => void,
  perTick = ORDERS_PER_TICK,
): Promise<void> {
  let i = 0;
  for (const item of items) {
    if (i > 0 && i % perTick === 0) await yieldToEventLoop();
    visit(item, i++);
  }
}
