import type { Address, Trade } from 'intentbook';
import { amountIn, amountOut, MAX_RESERVE } from './pool.ts';

/** One direction of a pool. */
export interface PoolSide {
  readonly reserveIn: bigint;
  readonly reserveOut: bigint;
  readonly fee: number;
}

/** Returns all pools between two tokens, in the direction from the first to the second. */
export type PoolsBetween = (sold: Address, bought: Address) => readonly PoolSide[];

/** Route through pools with its result. */
export interface Route {
  /** Tokens of the route, including the first and the last. */
  readonly path: readonly Address[];
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
export function findBestRoutes(trade: Trade, paths: readonly Address[][], poolsBetween: PoolsBetween): Route[] {
  const best: Route[] = [];
  for (const path of paths) {
    const amount =
      trade.kind === 'sell' ? sellAlong(path, trade.amount, poolsBetween) : buyAlong(path, trade.amount, poolsBetween);
    if (amount === undefined) continue;
    const last = best.at(-1);
    const isBetter = last === undefined || (trade.kind === 'sell' ? amount > last.amount : amount < last.amount);
    if (!isBetter) continue;
    if (last?.path.length === path.length) best.pop();
    best.push({ path, amount });
  }
  return best;
}

/** Computes the bought amount. Each hop uses the pool with the highest output. */
function sellAlong(path: readonly Address[], amount: bigint, poolsBetween: PoolsBetween): bigint | undefined {
  let sold = amount;
  for (const [from, to] of getHops(path)) {
    let most = 0n;
    for (const { reserveIn, reserveOut, fee } of poolsBetween(from, to)) {
      if (reserveIn + sold > MAX_RESERVE) continue;
      const bought = amountOut(sold, reserveIn, reserveOut, fee);
      if (bought > most) most = bought;
    }
    if (most === 0n) return undefined;
    sold = most;
  }
  return sold;
}

/** Computes the sold amount from the end of the path. Each hop uses the pool with the lowest input. */
function buyAlong(path: readonly Address[], amount: bigint, poolsBetween: PoolsBetween): bigint | undefined {
  let bought = amount;
  for (const [from, to] of getHops(path).reverse()) {
    let least: bigint | undefined;
    for (const { reserveIn, reserveOut, fee } of poolsBetween(from, to)) {
      const sold = amountIn(bought, reserveIn, reserveOut, fee);
      if (sold === undefined || reserveIn + sold > MAX_RESERVE) continue;
      if (least === undefined || sold < least) least = sold;
    }
    if (least === undefined) return undefined;
    bought = least;
  }
  return bought;
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
