import { type Decimal, formatDecimal } from '../protocol/decimal.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';

/** The prices that convert gas units into sell tokens. */
export interface GasCost {
  /** Wei per unit of gas. */
  readonly gasPrice: Decimal;
  /** Atoms of native currency for one atom of the sell token. Positive. */
  readonly sellTokenPrice: Decimal;
}

/** The fixed amount of a quote request, in atoms. */
export type QuoteSide =
  /** The total amount that leaves the owner; the fee is deducted from it. */
  | { readonly kind: 'sell'; readonly sellAmountBeforeFee: bigint }
  /** The traded amount; the fee is added to it. */
  | { readonly kind: 'sell'; readonly sellAmountAfterFee: bigint }
  | { readonly kind: 'buy'; readonly buyAmountAfterFee: bigint };

export interface Amounts {
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
}

/**
 * Returns the gas costs in atoms of the sell token: `ceil(gas × gasPrice / sellTokenPrice)`, computed exactly and
 * rounded up once. See docs/internals/decisions.md#d3-2.
 */
export function computeNetworkFee(gas: bigint, { gasPrice, sellTokenPrice }: GasCost): bigint {
  const dividend = gas * gasPrice.digits * 10n ** BigInt(sellTokenPrice.scale);
  const divisor = sellTokenPrice.digits * 10n ** BigInt(gasPrice.scale);
  return (dividend + divisor - 1n) / divisor;
}

/** Returns the amount to estimate: the whole fixed amount, before any fee. */
export function getFixedAmount(side: QuoteSide): bigint {
  if (side.kind === 'buy') return side.buyAmountAfterFee;
  return 'sellAmountBeforeFee' in side ? side.sellAmountBeforeFee : side.sellAmountAfterFee;
}

/**
 * Returns the amounts of a quote. A sale before fee applies the rate of the estimate to the amount after the fee.
 *
 * @param estimated - Atoms of the side that is not fixed.
 * @returns The amounts, or `uncovered` if the fee consumes the sell amount, or so much of it that nothing can be
 * bought.
 */
export function computeQuoteAmounts(side: QuoteSide, estimated: bigint, fee: bigint): Amounts | 'uncovered' {
  if (side.kind === 'buy') return { sellAmount: estimated, buyAmount: side.buyAmountAfterFee };
  if ('sellAmountAfterFee' in side) return { sellAmount: side.sellAmountAfterFee, buyAmount: estimated };
  const whole = side.sellAmountBeforeFee;
  if (fee >= whole) return 'uncovered';
  const sellAmount = whole - fee;
  const buyAmount = (estimated * sellAmount) / whole;
  return buyAmount === 0n ? 'uncovered' : { sellAmount, buyAmount };
}

const MILLION = 1_000_000n;

/**
 * Applies a volume fee, in parts per million. It is deducted from the bought amount of a sale. For a purchase it is
 * added to the sold amount, computed with the network fee included.
 */
export function applyVolumeFee(
  kind: QuoteSide['kind'],
  { sellAmount, buyAmount }: Amounts,
  fee: bigint,
  ppm: number,
): Amounts {
  const share = (volume: bigint) => (volume * BigInt(ppm)) / MILLION;
  return kind === 'sell'
    ? { sellAmount, buyAmount: buyAmount - share(buyAmount) }
    : { sellAmount: sellAmount + share(sellAmount + fee), buyAmount };
}

/** Formats parts per million as basis points: at most two decimals, without trailing zeros. */
export function formatBasisPoints(ppm: number): string {
  return formatDecimal({ digits: BigInt(ppm), scale: 2 });
}

/**
 * The rate of an estimate after gas costs: greater is better. A fraction, because rates may differ by less than an
 * atom.
 */
export interface NetRate {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Returns the net rate of an estimate: bought amount per sold amount including the fee. */
export function computeNetRate(side: QuoteSide, estimated: bigint, fee: bigint): NetRate {
  if (side.kind === 'buy') return { numerator: 1n, denominator: estimated + fee };
  if ('sellAmountAfterFee' in side) return { numerator: estimated, denominator: side.sellAmountAfterFee + fee };
  const whole = side.sellAmountBeforeFee;
  // The unrounded bought amount. If the fee is not covered, the rate is negative and decreases with the fee.
  return fee < whole
    ? { numerator: estimated * (whole - fee), denominator: 1n }
    : { numerator: whole - fee, denominator: 1n };
}

/** Compares two rates: negative, zero or positive if `a` is worse than, equal to or better than `b`. */
export function compareRates(a: NetRate, b: NetRate): number {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Whether an amount is valid in wire format and in a signed order. */
export function isAmount(value: bigint): boolean {
  return value > 0n && value <= MAX_UINT256;
}
