import { yieldToEventLoop } from '../ports/clock.ts';
import type { Auction, AuctionOrder } from './auction-order.ts';

/** An auction as JSON in UTF-8, as the HTTP interface sends it. */
export interface RenderedAuction {
  readonly id: number;
  /** A strong entity tag. It changes with each auction. */
  readonly etag: string;
  /** The parts of the text. Each begins and ends at a character; auctions share those whose orders are the same. */
  readonly chunks: readonly Uint8Array[];
  /** Number of orders. */
  readonly size: number;
}

/** Orders that are rendered in one tick of the event loop. */
const ORDERS_PER_TICK = 100;

/** Orders that are only visited or compared in one tick. A tick takes longer than the visit of a hundred orders. */
const VISITS_PER_TICK = 2_000;

/** Largest number of orders in a chunk. One of less than half is rendered again, so that chunks do not become short. */
const ORDERS_PER_CHUNK = 128;

const encoder = /* @__PURE__ */ new TextEncoder();

/** The text of each order. An order that stays in several auctions is rendered once. */
const texts = new WeakMap<AuctionOrder, string>();

export function renderOrder(order: AuctionOrder): string {
  const text = texts.get(order) ?? JSON.stringify(order);
  texts.set(order, text);
  return text;
}

const rendered = new WeakMap<Auction, Promise<RenderedAuction>>();

export function renderOnce(auction: Auction): Promise<RenderedAuction> {
  const known = rendered.get(auction) ?? renderAuction(auction);
  rendered.set(auction, known);
  return known;
}

/** Forgets the text of an auction that is not the newest any more. A caller that has it keeps it. */
export function forgetRendered(auction: Auction): void {
  rendered.delete(auction);
}

export async function renderAuction({ orders, ...members }: Auction): Promise<RenderedAuction> {
  const chunks = await renderWithOrders(members, 'orders', orders);
  return { id: members.id, etag: `"auction-${members.id}"`, chunks, size: orders.length };
}

/** Adjacent orders and their texts, each after a comma. */
interface Chunk {
  readonly orders: readonly AuctionOrder[];
  readonly bytes: Uint8Array;
}

/** The last rendered chunk by its first order. */
const chunksByFirst = new WeakMap<AuctionOrder, Chunk>();

/** Returns a rendered chunk of exactly the orders that follow in a list. */
function findChunk(orders: readonly AuctionOrder[], start: number): Chunk | undefined {
  const chunk = chunksByFirst.get(orders[start] as AuctionOrder); // within the list
  return chunk?.orders.every((order, i) => order === orders[start + i]) ? chunk : undefined;
}

function renderChunk(orders: readonly AuctionOrder[]): Chunk {
  const chunk = { orders, bytes: encoder.encode(orders.map((order) => `,${renderOrder(order)}`).join('')) };
  for (const order of orders) chunksByFirst.delete(order);
  if (orders.length >= ORDERS_PER_CHUNK / 2) chunksByFirst.set(orders[0] as AuctionOrder, chunk); // not empty
  return chunk;
}

/** Renders members and a list of orders behind them in steps. Chunks of the same orders are rendered once. */
export async function renderWithOrders(
  members: object,
  list: string,
  orders: readonly AuctionOrder[],
): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  const head = encoder.encode(`${JSON.stringify(members).slice(0, -1)},"${list}":[`);
  let start = 0;
  let work = 0;
  const renderUntil = (end: number) => {
    if (end > start) chunks.push(renderChunk(orders.slice(start, end)).bytes);
    start = end;
  };
  for (let i = 0; i < orders.length; ) {
    if (work >= VISITS_PER_TICK) {
      work = 0;
      await yieldToEventLoop();
    }
    const chunk = findChunk(orders, i);
    if (chunk === undefined) {
      if (++i - start === ORDERS_PER_CHUNK) renderUntil(i);
      work += VISITS_PER_TICK / ORDERS_PER_TICK;
    } else {
      renderUntil(i);
      chunks.push(chunk.bytes);
      start = i += chunk.orders.length;
      work += chunk.orders.length;
    }
  }
  renderUntil(orders.length);
  const [first = new Uint8Array(), ...others] = chunks;
  return [head, first.subarray(1), ...others, encoder.encode(']}')]; // without the first comma
}

/** Calls a function for each item, with a tick of the event loop after some of them. */
export async function visitAll<T>(items: readonly T[], visit: (item: T) => void): Promise<void> {
  for (let start = 0; start < items.length; start += VISITS_PER_TICK) {
    if (start > 0) await yieldToEventLoop();
    const end = Math.min(start + VISITS_PER_TICK, items.length);
    for (let i = start; i < end; i++) visit(items[i] as T); // within the list
  }
}
