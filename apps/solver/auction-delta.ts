import type { Auction, AuctionDelta, AuctionOrder, AuctionPrices } from 'intentbook';

/**
 * Applies a delta of an auction stream to the auction that it starts from.
 *
 * @returns The auction `delta.id`. Its `JSON.stringify` is the body of `GET /api/v1/auction`, byte for byte.
 * @throws RangeError if the delta does not belong to the auction.
 */
export function applyAuctionDelta(auction: Auction, delta: AuctionDelta): Auction {
  const { id, base, block, size, removed, added } = delta;
  if (auction.id !== base) throw new RangeError(`auction.id must be ${base}, the base of the delta, got ${auction.id}`);
  const gone = new Set([...removed, ...added.map(({ uid }) => uid)]);
  const orders = auction.orders.filter(({ uid }) => !gone.has(uid)).concat(added);
  orders.sort(compareOrders);
  if (orders.length !== size) throw new RangeError(`delta.size must be ${orders.length}, got ${size}`);
  const { surplusCapturingJitOrderOwners } = auction;
  return { id, block, prices: applyPrices(auction.prices, delta.prices), surplusCapturingJitOrderOwners, orders };
}

function compareOrders(a: AuctionOrder, b: AuctionOrder): number {
  return a.created - b.created || (a.uid < b.uid ? -1 : 1);
}

function applyPrices(prices: AuctionPrices, changed: AuctionDelta['prices']): AuctionPrices {
  const merged = Object.entries<string | null>({ ...prices, ...changed }).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null));
}
