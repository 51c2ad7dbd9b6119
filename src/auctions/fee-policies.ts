import type { TokenPolicy } from '../admission/limits.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import type { PartnerFee } from '../protocol/metadata.ts';
import type { FeeQuote, WireFeePolicy } from '../protocol/protocol-fees.ts';
import type { AuctionOptions, FeePolicyOption, ParsedAuctionOptions } from './auction-options.ts';

/** The quote of an order in an auction, in atoms. */
export interface AuctionQuote extends FeeQuote {
  readonly solver: Address;
}

export type AuctionFeePolicy = WireFeePolicy<AuctionQuote>;

/** The terms of an order that determine its fee policies. */
export interface FeeSubject {
  readonly kind: 'sell' | 'buy';
  readonly sellToken: string;
  readonly buyToken: string;
  /** Atoms, decimal. */
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** The stored quote. A buy amount of 0 stands for an order without a quote. */
  readonly quote: AuctionQuote;
  readonly partnerFees: readonly PartnerFee[];
  readonly owner: Address;
}

/** Rules besides the policies. */
export interface FeeRules extends Pick<Required<AuctionOptions>, 'protocolFees' | 'maxPartnerFee'> {
  /** Whether two tokens are worth the same: equal tokens, or wrapped and native currency. */
  readonly isSame: (sellToken: string, buyToken: string) => boolean;
  /** Accounts whose orders have no policies of the operator. */
  readonly jitOrderOwners: readonly Address[];
}

const MILLION = 1_000_000n;

/** Returns the fee rules at a time. The result is the same object until other rules apply. */
export type GetFeeRules = (now: number) => FeeRules;

/** Creates the selection of the fee rules by the time, in seconds since 1970. */
export function createFeeSchedule(
  { upcomingFees, ...options }: ParsedAuctionOptions,
  { wrappedNative }: Pick<TokenPolicy, 'wrappedNative'>,
): GetFeeRules {
  const isSame = (sellToken: string, buyToken: string) =>
    sellToken === buyToken || (sellToken === wrappedNative && buyToken === NATIVE_MARKER);
  const current = { ...options, isSame };
  const later = upcomingFees && { ...upcomingFees, isSame, jitOrderOwners: options.jitOrderOwners };
  return (now) => (later !== undefined && now >= later.from ? later : current);
}

/** Maximum factor of a partner's surplus fee, in parts per million. A factor of one would take all of it. */
const MAX_SURPLUS_FACTOR = 999_900;

/** Parts per million in a basis point. */
const PPM_PER_BPS = 100n;

/**
 * Returns the fee policies of an order: those of the operator whose condition it meets, then those of its app data. All
 * factors are whole parts per million, so that no rounding depends on floating point.
 */
export function getFeePolicies(order: FeeSubject, rules: FeeRules): readonly AuctionFeePolicy[] {
  const own = (rules.jitOrderOwners.includes(order.owner) ? [] : rules.protocolFees)
    .filter(({ orders = 'any' }) => orders === 'any' || (orders === 'inMarket') === isWithinQuote(order))
    .flatMap((policy) => toWire(policy, order, rules));
  return [...own, ...partnerPolicies(order, rules.maxPartnerFee)];
}

/**
 * Returns whether an order can be filled at its quote, network fee included. Compared as exact products; an order
 * without a quote is outside of the market.
 */
export function isWithinQuote({ kind, sellAmount, buyAmount, quote }: FeeSubject): boolean {
  const [sell, buy] = [BigInt(sellAmount), BigInt(buyAmount)];
  const [quoteSell, quoteBuy, fee] = [BigInt(quote.sellAmount), BigInt(quote.buyAmount), BigInt(quote.fee)];
  if (quoteSell === 0n || quoteBuy === 0n) return false;
  if (kind === 'buy') return sell * quoteBuy >= (quoteSell + fee) * buy;
  const bought = quoteBuy - (fee * quoteBuy) / quoteSell;
  return bought > 0n && sell * bought >= quoteSell * buy;
}

function toWire(policy: FeePolicyOption, order: FeeSubject, { isSame }: FeeRules): readonly AuctionFeePolicy[] {
  const { sellToken, buyToken } = order;
  if (policy.kind !== 'volume') return [surplusPolicy(policy.kind, policy.factor, policy.maxVolumeFactor, order)];
  if (policy.equalTokens !== true && isSame(sellToken, buyToken)) return [];
  const bucket = policy.buckets?.find(({ tokens }) => tokens.includes(sellToken) && tokens.includes(buyToken));
  return [{ volume: { factor: toFraction(bucket?.factor ?? policy.factor) } }];
}

/**
 * Returns the policies of partner fees as production counts them. The requested shares of the volume add up to the
 * maximum, and the factors compound: each is at most `(1 + most) / (1 + added) - 1`, rounded down. A fee without a rest
 * stays, with the factor 0.
 */
function partnerPolicies(order: FeeSubject, most: number): readonly AuctionFeePolicy[] {
  const maximum = BigInt(most);
  let added = 0n;
  return order.partnerFees.map((fee) => {
    const requested = BigInt(fee.kind === 'volume' ? fee.bps : fee.maxVolumeBps) * PPM_PER_BPS;
    const rest = ((MILLION + maximum) * MILLION) / (MILLION + added) - MILLION;
    const factor = Number(requested < rest ? requested : rest);
    added += requested < maximum - added ? requested : maximum - added;
    if (fee.kind === 'volume') return { volume: { factor: toFraction(factor) } };
    return surplusPolicy(fee.kind, Math.min(fee.bps * Number(PPM_PER_BPS), MAX_SURPLUS_FACTOR), factor, order);
  });
}

function surplusPolicy(
  kind: 'surplus' | 'priceImprovement',
  factor: number,
  maxVolumeFactor: number,
  { quote: { sellAmount, buyAmount, fee, solver } }: FeeSubject,
): AuctionFeePolicy {
  const factors = { factor: toFraction(factor), maxVolumeFactor: toFraction(maxVolumeFactor) };
  if (kind === 'surplus') return { surplus: factors };
  return { priceImprovement: { ...factors, quote: { sellAmount, buyAmount, fee, solver } } };
}

/** Converts parts per million to a fraction. The shortest decimal of the result has at most six places. */
function toFraction(ppm: number): number {
  return ppm / 1_000_000;
}
