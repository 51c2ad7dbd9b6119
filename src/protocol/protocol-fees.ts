import type { OrderKind } from './order.ts';
import { ceilDivide } from './uint256.ts';

/** A trade with the signed terms of its order, in atoms. */
export interface FeeTrade {
  readonly kind: OrderKind;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  /** The amount that left the owner, without the signed fee. */
  readonly sold: bigint;
  readonly bought: bigint;
}

/** An exchange rate: the limit of an order or of its quote. */
interface Rate {
  readonly sell: bigint;
  readonly buy: bigint;
}

const MILLION = 1_000_000n;

/**
 * Computes the protocol fees of a trade, which its amounts already contain. The last policy was applied to the user's
 * amounts last, so it is removed first; each policy sees the amounts without the fees of the later ones. Exact: factors
 * are whole parts per million, and each fee is rounded down once.
 *
 * @returns One fee per policy, in atoms of the buy token for `sell`, of the sell token for `buy`.
 */
export function computeProtocolFees(trade: FeeTrade, policies: readonly WireFeePolicy[]): readonly bigint[] {
  const fees: bigint[] = [];
  let current = trade;
  for (const policy of [...policies].reverse()) {
    const fee = computeFee(current, policy);
    fees.unshift(fee);
    current =
      trade.kind === 'sell' ? { ...current, bought: current.bought + fee } : { ...current, sold: current.sold - fee };
  }
  return fees;
}

/**
 * Computes the protocol fees that a solver deducts from a trade, in the order of the policies. Each is rounded down to
 * whole atoms.
 *
 * @param trade - The amounts before these fees.
 * @returns The total, in atoms of the buy token for `sell`, of the sell token for `buy`.
 */
export function deductProtocolFees(trade: FeeTrade, policies: readonly WireFeePolicy[]): bigint {
  let total = 0n;
  for (const policy of policies) {
    const current =
      trade.kind === 'sell' ? { ...trade, bought: trade.bought - total } : { ...trade, sold: trade.sold + total };
    const volume = current.kind === 'sell' ? current.bought : current.sold;
    const share = (factor: number) => (volume * toPpm(factor)) / MILLION;
    if ('volume' in policy) {
      total += share(policy.volume.factor);
      continue;
    }
    const { factor, maxVolumeFactor } = 'surplus' in policy ? policy.surplus : policy.priceImprovement;
    const fee = (surplusOver(current, findRate(current, policy)) * toPpm(factor)) / MILLION;
    const most = share(maxVolumeFactor);
    total += fee < most ? fee : most;
  }
  return total;
}

/** Returns the rate over which a policy counts the surplus. */
function findRate(trade: FeeTrade, policy: Exclude<WireFeePolicy, { volume: unknown }>): Rate {
  if ('surplus' in policy) return { sell: trade.sellAmount, buy: trade.buyAmount };
  return quotedRate(trade, policy.priceImprovement.quote);
}

function computeFee(trade: FeeTrade, policy: WireFeePolicy): bigint {
  if ('volume' in policy) return volumeFee(trade, policy.volume.factor);
  const { factor, maxVolumeFactor } = 'surplus' in policy ? policy.surplus : policy.priceImprovement;
  const rate = findRate(trade, policy);
  const ppm = toPpm(factor);
  // A share f of the surplus before the fee is f / (1 - f) of the surplus after it.
  const fee = (surplusOver(trade, rate) * ppm) / (MILLION - ppm);
  const most = volumeFee(trade, maxVolumeFactor);
  return fee < most ? fee : most;
}

/** Returns a share of the volume: of the bought amount before the fee for `sell`, of the sold amount for `buy`. */
function volumeFee({ kind, sold, bought }: FeeTrade, factor: number): bigint {
  const ppm = toPpm(factor);
  return kind === 'sell' ? (bought * ppm) / (MILLION - ppm) : (sold * ppm) / (MILLION + ppm);
}

/** Returns the surplus of a trade over its share of a rate, rounded as the contract rounds; 0 if there is none. */
export function surplusOver({ kind, sold, bought }: FeeTrade, { sell, buy }: Rate): bigint {
  // Orders that were placed on chain may have an amount of 0.
  if (sell === 0n || buy === 0n) return kind === 'sell' && sell !== 0n ? bought : 0n;
  const surplus = kind === 'sell' ? bought - ceilDivide(sold * buy, sell) : (sell * bought) / buy - sold;
  return surplus > 0n ? surplus : 0n;
}

/**
 * Returns the rate of a quote after its network fee, scaled to the order; the limit if the quote is worse or absent.
 */
function quotedRate({ kind, sellAmount, buyAmount }: FeeTrade, quote: FeeQuote): Rate {
  const [sell, buy, fee] = [BigInt(quote.sellAmount), BigInt(quote.buyAmount), BigInt(quote.fee)];
  const limit = { sell: sellAmount, buy: buyAmount };
  if (sell === 0n || buy === 0n) return limit;
  if (kind === 'sell') {
    const scaled = ((buy - (fee * buy) / sell) * sellAmount) / sell;
    return scaled > buyAmount ? { sell: sellAmount, buy: scaled } : limit;
  }
  const scaled = ((sell + fee) * buyAmount) / buy;
  return scaled < sellAmount ? { sell: scaled, buy: buyAmount } : limit;
}

/** Converts a fraction of an auction to parts per million. Each was created by dividing a whole number of them. */
function toPpm(fraction: number): bigint {
  return BigInt(Math.round(fraction * 1_000_000));
}

/** The quote over which a policy counts the price improvement, in atoms. */
export interface FeeQuote {
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly fee: string;
}

/** A fee policy in wire format. Factors are fractions of one. */
export type WireFeePolicy<Quote extends FeeQuote = FeeQuote> =
  | { readonly volume: { readonly factor: number } }
  | { readonly surplus: { readonly factor: number; readonly maxVolumeFactor: number } }
  | {
      readonly priceImprovement: {
        readonly factor: number;
        readonly maxVolumeFactor: number;
        readonly quote: Quote;
      };
    };
