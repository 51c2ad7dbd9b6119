import type { SandboxToken } from './tokens.ts';
import { toAtoms } from './units.ts';

/** Liquidity of each pool, in whole units of native currency. */
const DEPTH = '10000';

/** Maximum of a reserve, in atoms (UniswapV2Pair.sol). */
const MAX_RESERVE = 2n ** 112n - 1n;

/**
 * Computes the reserves of a pool, in atoms.
 *
 * @param price - Native currency for one whole token, as a decimal number.
 * @throws TypeError if the price is malformed, or if a pool cannot have it.
 */
export function getPoolReserves(
  { symbol, decimals }: Pick<SandboxToken, 'symbol' | 'decimals'>,
  price: string,
): { readonly native: bigint; readonly token: bigint } {
  const scaled = toAtoms(price, 36);
  if (scaled === 0n) throw new TypeError(`price must be above 0, got "${price}"`);
  const native = toAtoms(DEPTH, 18);
  const token = (native * 10n ** BigInt(decimals + 18)) / scaled;
  if (token >= 1n && token <= MAX_RESERVE) return { native, token };
  const bound = token < 1n ? 'less' : 'more';
  throw new TypeError(
    `price must fit a pool of ${DEPTH} of native currency with 1 to 2^112 - 1 atoms of ${symbol} ` +
      `(${decimals} decimals), got "${price}", which needs ${bound}`,
  );
}
