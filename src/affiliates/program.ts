import type { Address } from '../protocol/hex.ts';
import type { AffiliateTerms } from './affiliate-api.ts';
import { MICROS, toMicros } from './dollars.ts';
import type { Referral, ReferredTrade } from './referred-trade.ts';

/** The reason why a trade counts or does not count. */
export type EligibilityReason =
  | 'eligible'
  /** The code was not registered at the time of the trade. */
  | 'unknown_code'
  /** The code belongs to the trader. */
  | 'own_code'
  /** The first trade of the trader had no code, or another invalid one. */
  | 'ref_after_first_trade'
  /** The trader is bound to another code. */
  | 'other_code'
  | 'time_cap_exceeded'
  | 'volume_cap_exceeded'
  /** No price of the tokens was known at the time of the trade. */
  | 'price_unknown';

/** A trade with a referrer code, evaluated. */
export interface EvaluatedTrade {
  readonly at: number;
  readonly referral: Referral;
  readonly reason: EligibilityReason;
  /** The part of the value that counts, in millionths of a US dollar. */
  readonly eligible: bigint;
}

/** The binding of a trader to a code. Times are in milliseconds since 1970. */
export interface Binding {
  readonly code: string;
  readonly affiliate: Address;
  readonly linkedSince: number;
  readonly rewardsEnd: number;
}

/** The state of a trader in the programme. */
export interface TraderEvaluation {
  readonly binding: Binding | undefined;
  /** In millionths of a US dollar. */
  readonly eligibleVolume: bigint;
  /** Oldest first. */
  readonly trades: readonly EvaluatedTrade[];
}

const DAY = 86_400_000;

/** The last time that a date can have, in milliseconds since 1970. */
const MAX_TIME = 8.64e15;

/**
 * Evaluates the trades of a trader. The first trade binds the trader, if its order has the registered code of another
 * wallet. The trades with this code count until the time cap, and up to the volume cap.
 *
 * @param trades - All trades of the trader, oldest first.
 * @param getTerms - Returns the terms of a code.
 */
export function evaluateTrader(
  trades: readonly ReferredTrade[],
  getTerms: (code: string) => AffiliateTerms,
): TraderEvaluation {
  const binding = getBinding(trades[0], getTerms);
  const volumeCap = binding === undefined ? 0n : toMicros(getTerms(binding.code).volumeCap);
  const evaluated: EvaluatedTrade[] = [];
  let eligibleVolume = 0n;
  for (const { at, trader, referral } of trades) {
    if (referral === undefined) continue;
    const remaining = volumeCap - eligibleVolume;
    const reason = getReason(referral, at, trader, binding, remaining);
    const value = BigInt(referral.value ?? 0);
    const counted = value < remaining ? value : remaining;
    const eligible = reason === 'eligible' ? counted : 0n;
    eligibleVolume += eligible;
    evaluated.push({ at, referral, reason, eligible });
  }
  return { binding, eligibleVolume, trades: evaluated };
}

function getBinding(first: ReferredTrade | undefined, getTerms: (code: string) => AffiliateTerms): Binding | undefined {
  if (first?.referral === undefined) return undefined;
  const { code, affiliate } = first.referral;
  if (affiliate === null || affiliate === first.trader) return undefined;
  const rewardsEnd = Math.min(first.at + getTerms(code).timeCapDays * DAY, MAX_TIME);
  return { code, affiliate, linkedSince: first.at, rewardsEnd };
}

function getReason(
  { code, affiliate, value }: Referral,
  at: number,
  trader: Address,
  binding: Binding | undefined,
  remaining: bigint,
): EligibilityReason {
  if (affiliate === null) return 'unknown_code';
  if (affiliate === trader) return 'own_code';
  if (binding === undefined) return 'ref_after_first_trade';
  if (code !== binding.code) return 'other_code';
  if (at >= binding.rewardsEnd) return 'time_cap_exceeded';
  if (value === null) return 'price_unknown';
  return remaining > 0n ? 'eligible' : 'volume_cap_exceeded';
}

/**
 * Computes the rewards of a volume: `rewardAmount` for each complete `triggerVolume`. `left` is the volume until the
 * next reward. Amounts are in millionths of a US dollar. A trigger volume of 0 yields no rewards.
 *
 * @param percent - The part of the reward.
 */
export function computeRewards(volume: bigint, terms: AffiliateTerms, percent: number) {
  const trigger = toMicros(terms.triggerVolume);
  if (trigger === 0n) return { earned: 0n, left: 0n };
  const earned = ((volume / trigger) * toMicros(terms.rewardAmount) * toMicros(percent)) / (100n * MICROS);
  return { earned, left: trigger - (volume % trigger) };
}
