import type { Address, Trade } from 'intentbook';
import { amountIn, amountOut, MAX_RESERVE } from './pool.ts';

/** One direction of a pool. */
export interface PoolSide {
  readonly reserveIn: bigint;
  readonly reserveOut: bigint;
  readonly fee: number;
  /** Address of the pool, if it is a pair of Uniswap V2. */
  readonly pair?: Address;
}

/** A trade with one pool of a route. */
export interface Hop {
  readonly pool: PoolSide;
  readonly sold: bigint;
  readonly bought: bigint;
}

/** Returns all pools between two tokens, in the direction from the first to the second. */
export type PoolsBetween = (sold: Address, bought: Address) => readonly PoolSide[];

/** Route through pools with its result. */
export interface TradeRoute {
  /** Tokens of the route, including the first and the last. */
  readonly path: readonly Address[];
  /** The pools in the order of the path. */
  readonly hops: readonly Hop[];
  /** Atoms of the side that the trade does not fix. */
  readonly amount: bigint;
}

/**
 * Returns all paths between two tokens over at most `maxHops` pools and different base tokens, in the order of their
 * length.
 */
export function listPaths(
  { sellToken, buyToken }: Pick<Trade, 'sellToken' | 'buyToken'>,
  bases: readonly Address[],
  maxHops: number,
): Address[][] {
  const between = bases.filter((base) => base !== sellToken && base !== buyToken);
  const paths: Address[][] = [];
  let prefixes: Address[][] = [[sellToken]];
  for (let hops = 1; hops <= maxHops; hops++) {
    paths.push(...prefixes.map((prefix) => [...prefix, buyToken]));
    prefixes = prefixes.flatMap((prefix) =>
      between.filter((base) => !prefix.includes(base)).map((base) => [...prefix, base]),
    );
  }
  return paths;
}

/**
 * Returns the best route for each number of pools, in the order of their length, without routes that are no better than
 * a shorter one. Which of these is best depends on the gas price, which is not known here.
 *
 * @param paths - Paths in the order of their length.
 */
export function findBestRoutes(trade: Trade, paths: readonly Address[][], poolsBetween: PoolsBetween): TradeRoute[] {
  const best: TradeRoute[] = [];
  for (const path of paths) {
    const hops =
      trade.kind === 'sell' ? sellAlong(path, trade.amount, poolsBetween) : buyAlong(path, trade.amount, poolsBetween);
    const amount = trade.kind === 'sell' ? hops?.at(-1)?.bought : hops?.[0]?.sold;
    if (hops === undefined || amount === undefined) continue;
    const last = best.at(-1);
    const isBetter = last === undefined || (trade.kind === 'sell' ? amount > last.amount : amount < last.amount);
    if (!isBetter) continue;
    if (last?.path.length === path.length) best.pop();
    best.push({ path, hops, amount });
  }
  return best;
}

/** Sells an amount along a path. Each hop uses the pool with the highest output. */
function sellAlong(path: readonly Address[], amount: bigint, poolsBetween: PoolsBetween): Hop[] | undefined {
  const hops: Hop[] = [];
  let sold = amount;
  for (const [from, to] of getHops(path)) {
    let best: Hop | undefined;
    for (const pool of poolsBetween(from, to)) {
      const { reserveIn, reserveOut, fee } = pool;
      if (reserveIn + sold > MAX_RESERVE) continue;
      const bought = amountOut(sold, reserveIn, reserveOut, fee);
      if (bought > (best?.bought ?? 0n)) best = { pool, sold, bought };
    }
    if (best === undefined) return undefined;
    hops.push(best);
    sold = best.bought;
  }
  return hops;
}

/** Buys an amount along a path, from its end. Each hop uses the pool with the lowest input. */
function buyAlong(path: readonly Address[], amount: bigint, poolsBetween: PoolsBetween): Hop[] | undefined {
  const hops: Hop[] = [];
  let bought = amount;
  for (const [from, to] of getHops(path).reverse()) {
    let best: Hop | undefined;
    for (const pool of poolsBetween(from, to)) {
      const { reserveIn, reserveOut, fee } = pool;
      const sold = amountIn(bought, reserveIn, reserveOut, fee);
      if (sold === undefined || reserveIn + sold > MAX_RESERVE) continue;
      if (best === undefined || sold < best.sold) best = { pool, sold, bought };
    }
    if (best === undefined) return undefined;
    hops.unshift(best);
    bought = best.sold;
  }
  return hops;
}

/** Returns the pairs of consecutive tokens. */
export function getHops(path: readonly Address[]): (readonly [Address, Address])[] {
  const pairs: (readonly [Address, Address])[] = [];
  for (const [i, to] of path.entries()) {
    const from = path[i - 1];
    if (from !== undefined) pairs.push([from, to]);
  }
  return pairs;
}
