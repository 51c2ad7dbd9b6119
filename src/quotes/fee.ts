import type { Decimal } from '../protocol/decimal.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';

/** What turns gas into sell tokens. */
export interface GasCost {
  /** Wei for one unit of gas. */
  readonly gasPrice: Decimal;
  /** Atoms of native currency for one atom of the sell token. Positive. */
  readonly sellTokenPrice: Decimal;
}

/** The fixed amount of a quote request, in atoms. */
export type QuoteSide =
  /** What leaves the owner altogether; the fee is taken from it. */
  | { readonly kind: 'sell'; readonly sellAmountBeforeFee: bigint }
  /** What is traded; the fee comes on top. */
  | { readonly kind: 'sell'; readonly sellAmountAfterFee: bigint }
  | { readonly kind: 'buy'; readonly buyAmountAfterFee: bigint };

export interface Amounts {
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
}

/**
 * What gas costs in atoms of the sell token: `ceil(gas × gasPrice / sellTokenPrice)`, computed exactly and only then
 * rounded up (decision 3.2; contract, StoredOrderQuote).
 */
export function networkFee(gas: bigint, { gasPrice, sellTokenPrice }: GasCost): bigint {
  const dividend = gas * gasPrice.digits * 10n ** BigInt(sellTokenPrice.scale);
  const divisor = sellTokenPrice.digits * 10n ** BigInt(gasPrice.scale);
  return (dividend + divisor - 1n) / divisor;
}

/** The amount that sources are asked about: the whole of what is fixed, before any fee. */
export function fixedAmount(side: QuoteSide): bigint {
  if (side.kind === 'buy') return side.buyAmountAfterFee;
  return 'sellAmountBeforeFee' in side ? side.sellAmountBeforeFee : side.sellAmountAfterFee;
}

/**
 * The amounts of a quote. A sale before fee keeps the rate of the estimate for what the fee leaves of it.
 *
 * @param estimated atoms of the side that is not fixed.
 * @returns the amounts, or `uncovered` when the fee takes all that is sold, or so much that nothing is bought for the rest.
 */
export function quoteAmounts(side: QuoteSide, estimated: bigint, fee: bigint): Amounts | 'uncovered' {
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
 * Takes a fee on the volume, in parts per million: from what is bought by a sale, on top of what is sold for a purchase,
 * the network fee included.
 */
export function takeVolumeFee(
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

/** Parts per million as basis points: at most two digits behind the point, no zeros that say nothing. */
export function basisPoints(ppm: number): string {
  return formatDecimal({ digits: BigInt(ppm), scale: 2 });
}

/**
 * How good an estimate is once its gas is paid: more is better. A fraction, because what is compared may differ by less
 * than an atom.
 */
export interface NetRate {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** The merit of an estimate for what was asked: what is bought for all that is sold, the fee included. */
export function netRate(side: QuoteSide, estimated: bigint, fee: bigint): NetRate {
  if (side.kind === 'buy') return { numerator: 1n, denominator: estimated + fee };
  if ('sellAmountAfterFee' in side) return { numerator: estimated, denominator: side.sellAmountAfterFee + fee };
  const whole = side.sellAmountBeforeFee;
  // The amount bought, before it is rounded. One whose fee is not covered is worth nothing, the less the more it costs.
  return fee < whole
    ? { numerator: estimated * (whole - fee), denominator: 1n }
    : { numerator: whole - fee, denominator: 1n };
}

/** Negative, zero or positive as `a` is worse than, as good as or better than `b`. */
export function compareRates(a: NetRate, b: NetRate): number {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Whether an amount can stand on the wire and in a signed order. */
export function isAmount(value: bigint): boolean {
  return value > 0n && value <= MAX_UINT256;
}
