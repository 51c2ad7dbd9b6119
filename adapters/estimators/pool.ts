/** Two tokens that trade against each other so that the product of their reserves never shrinks. */
export interface Pool {
  /** Two different addresses, in any order and spelling. */
  readonly tokens: readonly [string, string];
  /** Atoms of each, in the same order. */
  readonly reserves: readonly [bigint, bigint];
  /** What the pool keeps of what comes in, in parts per million. Default 3000, as in Uniswap V2. */
  readonly fee?: number;
}

/** The fee of a Uniswap V2 pair: 0.3 %. */
export const UNISWAP_V2_FEE = 3_000;

/** A pair keeps its reserves in 112 bits each, and rejects what would pass them (UniswapV2Pair.sol, `_update`). */
export const MAX_RESERVE = (1n << 112n) - 1n;

const MILLION = 1_000_000n;

/**
 * Atoms that come out of a pool for `sold` atoms, rounded as the pool rounds (UniswapV2Library.sol, `getAmountOut`: for
 * a fee of 3000 its 997/1000 are 997000/1000000). None where that reverts: for nothing, and from a pool that is empty
 * on either side, whose product of nothing would let all of the other side go.
 */
export function amountOut(sold: bigint, reserveIn: bigint, reserveOut: bigint, fee = UNISWAP_V2_FEE): bigint {
  if (sold === 0n || reserveIn === 0n || reserveOut === 0n) return 0n;
  const kept = sold * (MILLION - BigInt(fee));
  return (kept * reserveOut) / (reserveIn * MILLION + kept);
}

/**
 * Atoms that must go into a pool for `bought` atoms to come out (UniswapV2Library.sol, `getAmountIn`).
 *
 * @returns `undefined` when the pool does not have as many: it never gives its last atom.
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
