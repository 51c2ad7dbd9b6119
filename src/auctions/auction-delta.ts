import type { Address, Hex } from '../protocol/hex.ts';
import { type Auction, type AuctionOrder, compareAuctionOrders } from './auction-order.ts';
import { renderOrder } from './render-auction.ts';

/** The difference between two auctions. Members that an auction has and a delta lacks are unchanged. */
export interface AuctionDelta {
  /** The id of the auction that the delta leads to. */
  readonly id: number;
  /** The id of the auction that the delta starts from. */
  readonly base: number;
  /** The newest indexed block. */
  readonly block: number;
  /** Number of orders of the auction `id`. */
  readonly size: number;
  /** The prices that differ. Null: the auction `id` has no price of the token. */
  readonly prices: Readonly<Record<Address, string | null>>;
  /** UIDs of orders that are no longer part of the auction. */
  readonly removed: readonly Hex[];
  /** New orders, and orders that have changed. */
  readonly added: readonly AuctionOrder[];
}

/** An event of a stream of auctions: a complete auction, or the difference to the previous event. */
export type AuctionChange =
  | { readonly type: 'auction'; readonly auction: Auction }
  | { readonly type: 'delta'; readonly delta: AuctionDelta };

/** The start of a stream of auctions, and the signal that ends it. */
export interface AuctionStreamOptions {
  /** Id of the auction that the subscriber has. Absent: the stream starts with a complete auction. */
  readonly after?: number;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** Computes a delta in one pass. Unchanged orders are the same objects, and both lists have the same order. */
export function createAuctionDelta(from: Auction, to: Auction): AuctionDelta {
  const removed: Hex[] = [];
  const added: AuctionOrder[] = [];
  let i = 0;
  for (const order of to.orders) {
    let before = from.orders[i];
    while (before !== undefined && before !== order && compareAuctionOrders(before, order) < 0) {
      removed.push(before.uid);
      before = from.orders[++i];
    }
    if (before?.uid === order.uid) i++;
    if (before !== order) added.push(order);
  }
  for (; i < from.orders.length; i++) removed.push((from.orders[i] as AuctionOrder).uid); // within the list
  const { id, block, orders } = to;
  return { id, base: from.id, block, size: orders.length, prices: comparePrices(from, to), removed, added };
}

function comparePrices({ prices: from }: Auction, { prices: to }: Auction): Record<Address, string | null> {
  const changed: Record<Address, string | null> = {};
  if (from === to) return changed;
  const tokens = [...new Set([...Object.keys(from), ...Object.keys(to)])] as Address[]; // the keys of prices
  for (const token of tokens.sort()) if (from[token] !== to[token]) changed[token] = to[token] ?? null;
  return changed;
}

/** Renders a delta as JSON. Orders that were rendered for an auction are not rendered again. */
export function renderAuctionDelta({ added, ...members }: AuctionDelta): string {
  return `${JSON.stringify(members).slice(0, -1)},"added":[${added.map(renderOrder).join(',')}]}`;
}
