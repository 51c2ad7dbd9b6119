/** Pool of two tokens with a constant product of the reserves. */
export interface Pool {
  /** Two different addresses, in any order and letter case. */
  readonly tokens: readonly [string, string];
  /** Reserves in atoms, in the order of `tokens`. */
  readonly reserves: readonly [bigint, bigint];
  /** Fee on the incoming amount, in parts per million. Default: 3000, as in Uniswap V2. */
  readonly fee?: number;
  /** Address of the pool, if it is a pair of Uniswap V2. Estimates then contain the calls of their route. */
  readonly pair?: string;
}

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
