import { bytes, encodeCall, word } from './abi-encoding.ts';
import type { Address, Hex } from './hex.ts';

/** Fee of a Uniswap V2 pair in parts per million: 0.3 %. */
export const UNISWAP_V2_FEE = 3_000;

/** Maximum reserve: a pair stores reserves in 112 bits and reverts above (UniswapV2Pair.sol, `_update`). */
export const MAX_RESERVE = (1n << 112n) - 1n;

const MILLION = 1_000_000n;

/**
 * Returns the atoms that a pool pays out for `sold` atoms, with the rounding of the pool (UniswapV2Library.sol,
 * `getAmountOut`: for a fee of 3000, its 997/1000 equals 997000/1000000). Returns 0 where that function reverts: for an
 * amount of 0, and if a reserve is 0.
 */
export function amountOut(sold: bigint, reserveIn: bigint, reserveOut: bigint, fee = UNISWAP_V2_FEE): bigint {
  if (sold === 0n || reserveIn === 0n || reserveOut === 0n) return 0n;
  const afterFee = sold * (MILLION - BigInt(fee));
  return (afterFee * reserveOut) / (reserveIn * MILLION + afterFee);
}

/**
 * Returns the atoms that must be sold to a pool to receive `bought` atoms (UniswapV2Library.sol, `getAmountIn`).
 *
 * @returns Undefined if the reserve is too small: a pool never pays out its last atom.
 */
export function amountIn(
  bought: bigint,
  reserveIn: bigint,
  reserveOut: bigint,
  fee = UNISWAP_V2_FEE,
): bigint | undefined {
  if (bought >= reserveOut || reserveIn === 0n) return undefined;
  return (reserveIn * bought * MILLION) / ((reserveOut - bought) * (MILLION - BigInt(fee))) + 1n;
}

/** One direction of a pool. */
export interface PoolSide {
  readonly reserveIn: bigint;
  readonly reserveOut: bigint;
  readonly fee: number;
  /** Address of the pool, if it is a pair of Uniswap V2. */
  readonly pair?: Address;
}

/** A trade with one pool of a route. */
interface Hop {
  readonly from: Address;
  readonly to: Address;
  readonly pool: PoolSide;
  readonly sold: bigint;
  readonly bought: bigint;
}

/** Returns all pools between two tokens, in the direction from the first to the second. */
export type PoolsBetween = (sold: Address, bought: Address) => readonly PoolSide[];

/** The fixed side of a trade, in atoms. */
interface RoutedTrade {
  readonly kind: 'sell' | 'buy';
  readonly amount: bigint;
}

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
  sellToken: Address,
  buyToken: Address,
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
export function findBestRoutes(
  trade: RoutedTrade,
  paths: readonly (readonly Address[])[],
  poolsBetween: PoolsBetween,
): TradeRoute[] {
  const best: TradeRoute[] = [];
  for (const path of paths) {
    const hops = tradeAlong(path, trade, poolsBetween);
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

/** Trades along a path: a sale from its start, a purchase from its end. Each hop uses the pool with the best result. */
function tradeAlong(
  path: readonly Address[],
  { kind, amount }: RoutedTrade,
  poolsBetween: PoolsBetween,
): Hop[] | undefined {
  const isSale = kind === 'sell';
  const pairs = getHops(path);
  const hops: Hop[] = [];
  let given = amount;
  for (const [from, to] of isSale ? pairs : pairs.reverse()) {
    let best: Hop | undefined;
    for (const pool of poolsBetween(from, to)) {
      const { reserveIn, reserveOut, fee } = pool;
      const sold = isSale ? given : amountIn(given, reserveIn, reserveOut, fee);
      if (sold === undefined || reserveIn + sold > MAX_RESERVE) continue;
      const bought = isSale ? amountOut(sold, reserveIn, reserveOut, fee) : given;
      const isBetter = isSale ? bought > (best?.bought ?? 0n) : best === undefined || sold < best.sold;
      if (isBetter) best = { from, to, pool, sold, bought };
    }
    if (best === undefined) return undefined;
    hops.push(best);
    given = isSale ? best.bought : best.sold;
  }
  return isSale ? hops : hops.reverse();
}

/** Returns the pairs of consecutive tokens. */
export function getHops(path: readonly Address[]): (readonly [Address, Address])[] {
  return path.slice(1).map((to, i) => [path[i] as Address, to]); // the element before
}

/** Returns two different tokens as a pair sorts them (UniswapV2Factory.sol, `createPair`). */
export function sortTokens(a: Address, b: Address): readonly [Address, Address] {
  return a < b ? [a, b] : [b, a];
}

/** Selectors of `transfer(address,uint256)` and of `swap(uint256,uint256,address,bytes)` (UniswapV2Pair.sol). */
const TRANSFER: Hex = '0xa9059cbb';
const SWAP: Hex = '0x022c0d9f';

/** A call without native currency. */
interface SwapCall {
  readonly target: Address;
  readonly callData: Hex;
}

/**
 * Returns the calls with which a contract trades along a route: a transfer to the first pair, then a swap of each pair,
 * which pays to the next pair and at last to the receiver.
 *
 * @returns `undefined` if the address of a pair is unknown.
 */
export function createSwapCalls({ path, hops }: TradeRoute, receiver: Address): SwapCall[] | undefined {
  const pairs = hops.flatMap(({ pool: { pair } }) => pair ?? []);
  const [first, token] = [pairs[0], path[0]];
  if (pairs.length !== hops.length || first === undefined || token === undefined) return undefined;
  const calls = [{ target: token, callData: encodeCall(TRANSFER, [word(first), word(hops[0]?.sold ?? 0n)]) }];
  for (const [i, { from, to, bought }] of hops.entries()) {
    const amounts = from < to ? [0n, bought] : [bought, 0n];
    const callData = encodeCall(SWAP, [...amounts.map(word), word(pairs[i + 1] ?? receiver), bytes('0x')]);
    calls.push({ target: pairs[i] ?? receiver, callData });
  }
  return calls;
}
