import type { Address, Trade } from 'intentbook';
import { amountIn, amountOut, MAX_RESERVE } from './pool.ts';

/** A pool as it looks from one of its tokens. */
export interface Side {
  readonly reserveIn: bigint;
  readonly reserveOut: bigint;
  readonly fee: number;
}

/** Every pool between two tokens, seen from the first. */
export type PoolsBetween = (sold: Address, bought: Address) => readonly Side[];

/** A way through pools, and what it comes to. */
export interface Route {
  /** The tokens on the way, the first and the last included. */
  readonly path: readonly Address[];
  /** Atoms of the side that the trade leaves open. */
  readonly amount: bigint;
}

/** Every way from one token to another over at most `maxHops` pools, with different base tokens between; the shortest first. */
export function pathsBetween(
  { sellToken, buyToken }: Pick<Trade, 'sellToken' | 'buyToken'>,
  bases: readonly Address[],
  maxHops: number,
): Address[][] {
  const between = bases.filter((base) => base !== sellToken && base !== buyToken);
  const paths: Address[][] = [];
  let stems: Address[][] = [[sellToken]];
  for (let hops = 1; hops <= maxHops; hops++) {
    paths.push(...stems.map((stem) => [...stem, buyToken]));
    stems = stems.flatMap((stem) => between.filter((base) => !stem.includes(base)).map((base) => [...stem, base]));
  }
  return paths;
}

/**
 * The best of some ways for each number of pools, the shortest first, without those that are no better than a shorter
 * one: which of them is best depends on what gas costs, and that is not known here.
 *
 * @param paths the shortest first.
 */
export function bestRoutes(trade: Trade, paths: readonly Address[][], poolsBetween: PoolsBetween): Route[] {
  const best: Route[] = [];
  for (const path of paths) {
    const amount =
      trade.kind === 'sell' ? sellAlong(path, trade.amount, poolsBetween) : buyAlong(path, trade.amount, poolsBetween);
    if (amount === undefined) continue;
    const last = best.at(-1);
    const better = last === undefined || (trade.kind === 'sell' ? amount > last.amount : amount < last.amount);
    if (!better) continue;
    if (last?.path.length === path.length) best.pop();
    best.push({ path, amount });
  }
  return best;
}

/** Each hop takes the pool that gives the most. */
function sellAlong(path: readonly Address[], amount: bigint, poolsBetween: PoolsBetween): bigint | undefined {
  let sold = amount;
  for (const [from, to] of hops(path)) {
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

/** The same from the end: each hop takes the pool that asks the least. */
function buyAlong(path: readonly Address[], amount: bigint, poolsBetween: PoolsBetween): bigint | undefined {
  let bought = amount;
  for (const [from, to] of hops(path).reverse()) {
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

/** The pairs of tokens that follow each other. */
export function hops(path: readonly Address[]): (readonly [Address, Address])[] {
  const pairs: (readonly [Address, Address])[] = [];
  for (const [i, to] of path.entries()) {
    const from = path[i - 1];
    if (from !== undefined) pairs.push([from, to]);
  }
  return pairs;
}
