import { yieldToEventLoop } from '../concurrency/yield.ts';
import { type Auction, type AuctionOrder, compareAuctionOrders } from './auction-order.ts';

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
const VISITS_PER_TICK = 2_000;

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

/** The last rendering before an auction. The two usually share nearly all orders. */
const bases = new WeakMap<Auction, Promise<RenderedAuction>>();

/** Renders an auction, once for all callers. */
export function renderOnce(auction: Auction): Promise<RenderedAuction> {
  const known = rendered.get(auction) ?? renderWithBase(auction);
  rendered.set(auction, known);
  return known;
}

async function renderWithBase(auction: Auction): Promise<RenderedAuction> {
  const base = await bases.get(auction)?.catch(() => undefined);
  bases.delete(auction);
  return renderAuction(auction, base);
}

/**
 * Forgets the bytes of an auction that is not the newest any more, except for the rendering of the next one. A caller
 * that has them keeps them.
 */
export function forgetRendered(auction: Auction, next: Auction): void {
  const base = rendered.get(auction) ?? bases.get(auction);
  rendered.delete(auction);
  if (base !== undefined) bases.set(next, base);
}

export async function renderAuction({ orders, ...members }: Auction, base?: RenderedAuction): Promise<RenderedAuction> {
  const bytes = await renderWithOrders(members, 'orders', orders, base?.bytes);
  return { id: members.id, etag: `"auction-${members.id}"`, bytes, size: orders.length };
}

/** Where the orders of a rendering are in its bytes. One byte is between two of them. */
interface Layout {
  readonly orders: readonly AuctionOrder[];
  readonly start: number;
  readonly ends: Float64Array;
}

const layouts = new WeakMap<Uint8Array, Layout>();

/** Adjacent orders of an earlier rendering, with the bytes between them. */
interface Copied {
  readonly from: number;
  to: number;
}

/** Bytes that are copied in one tick. */
const BYTES_PER_TICK = 1 << 20;

/**
 * Renders members and a list of orders behind them in steps. The result is one allocation. Orders that an earlier
 * rendering contains are copied from it.
 */
export async function renderWithOrders(
  members: object,
  list: string,
  orders: readonly AuctionOrder[],
  base?: Uint8Array,
): Promise<Uint8Array> {
  const head = encoder.encode(`${JSON.stringify(members).slice(0, -1)},"${list}":[`);
  const tail = encoder.encode(']}');
  const earlier = base && layouts.get(base);
  const ends = new Float64Array(orders.length);
  const parts: (string | Copied)[] = [];
  let at = head.length;
  let [next, work] = [0, 0];
  for (const [i, order] of orders.entries()) {
    if (work >= VISITS_PER_TICK) {
      work = 0;
      await yieldToEventLoop();
    }
    while (earlier !== undefined && isBefore(earlier.orders[next], order)) next++;
    if (earlier?.orders[next] === order) {
      const from = next === 0 ? earlier.start : (earlier.ends[next - 1] ?? 0) + 1;
      const to = earlier.ends[next++] ?? 0;
      const last = parts.at(-1);
      const isAdjacent = typeof last === 'object' && last.to + 1 === from && to - last.from <= BYTES_PER_TICK;
      if (isAdjacent) last.to = to;
      else parts.push({ from, to });
      at += to - from;
      work++;
    } else {
      const text = renderOrder(order);
      parts.push(text);
      at += text.length;
      work += VISITS_PER_TICK / ORDERS_PER_TICK;
    }
    ends[i] = at++;
  }
  const bytes = new Uint8Array(Math.max(head.length, at - 1) + tail.length);
  bytes.set(head);
  at = head.length;
  let copied = 0;
  for (const [i, part] of parts.entries()) {
    if (copied >= BYTES_PER_TICK) {
      copied = 0;
      await yieldToEventLoop();
    }
    if (i > 0) bytes[at++] = 0x2c; // ,
    const before = at;
    if (typeof part === 'string') at += encoder.encodeInto(part, bytes.subarray(at)).written;
    else {
      bytes.set((base as Uint8Array).subarray(part.from, part.to), at); // only parts of a base are copied
      at += part.to - part.from;
    }
    copied += at - before;
  }
  bytes.set(tail, at);
  layouts.set(bytes, { orders, start: head.length, ends });
  return bytes;
}

function isBefore(earlier: AuctionOrder | undefined, order: AuctionOrder): boolean {
  return earlier !== undefined && earlier !== order && compareAuctionOrders(earlier, order) < 0;
}

/** Calls a function for each item, with a tick of the event loop after some of them. */
export async function visitAll<T>(items: readonly T[], visit: (item: T) => void): Promise<void> {
  for (let start = 0; start < items.length; start += VISITS_PER_TICK) {
    if (start > 0) await yieldToEventLoop();
    const end = Math.min(start + VISITS_PER_TICK, items.length);
    for (let i = start; i < end; i++) visit(items[i] as T); // within the list
  }
}
