import type { Clock } from '../ports/clock.ts';
import type { NewQuote, QuoteKind, QuoteStore } from '../ports/quote-store.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { StoredOrderQuote } from '../records/wire-order.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import { computeNetworkFee, type GasCost, getFixedAmount, type QuoteSide } from './fee.ts';
import type { QuoteCandidate } from './quote-candidate.ts';
import type { ParsedQuoteRequest, QuotedScheme } from './request.ts';

/** Expiry of quotes in milliseconds, by how their order will be placed. See docs/internals/decisions.md#d3-5. */
export interface QuoteLifetimes {
  readonly standard: number;
  readonly onchain: number;
}

export interface PersistedQuote {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export type QuotePersister = ReturnType<typeof createQuotePersister>;

/**
 * Creates a quote persister. Requests that share an estimate also share the stored quote for the first half of its
 * lifetime. So at least half of the lifetime remains to place an order.
 */
export function createQuotePersister(quotes: QuoteStore, clock: Clock, lifetimes: QuoteLifetimes) {
  const cache = new WeakMap<ValidatedEstimate, Map<string, CacheEntry>>();

  async function insert(request: ParsedQuoteRequest, candidate: QuoteCandidate, cost: GasCost, expiresAt: number) {
    return { id: await quotes.insert(createStoredQuote(request, candidate, cost, expiresAt)), expiresAt };
  }

  return {
    persist(request: ParsedQuoteRequest, candidate: QuoteCandidate, cost: GasCost): Promise<PersistedQuote> {
      const entries = cache.get(candidate.estimate) ?? new Map<string, CacheEntry>();
      cache.set(candidate.estimate, entries);
      // All other values of a stored quote are determined by the estimate.
      const prices = [cost.gasPrice, cost.sellTokenPrice].map(formatDecimal);
      const key = [getQuoteKind(request.signing), request.buyToken, ...prices].join(' ');
      const before = entries.get(key);
      const now = clock.now();
      if (before !== undefined && now < before.sharedUntil) return before.quote;

      const lifetime = request.signing.onchain ? lifetimes.onchain : lifetimes.standard;
      const quote = insert(request, candidate, cost, now + lifetime);
      const entry = { quote, sharedUntil: now + lifetime / 2 };
      entries.set(key, entry);
      // A failed insert is not cached, so that the next request tries again.
      quote.catch(() => entries.get(key) === entry && entries.delete(key));
      return quote;
    },
  };
}

interface CacheEntry {
  readonly quote: Promise<PersistedQuote>;
  readonly sharedUntil: number;
}

export function getQuoteKind({ scheme, onchain }: QuotedScheme): QuoteKind {
  if (!onchain) return 'standard';
  return scheme === 'presign' ? 'onchainPresign' : 'onchainEip1271'; // no other scheme can be on chain
}

/**
 * Creates the stored form of a quote: the estimate for the whole fixed amount, before the fee is deducted. An order
 * without a signed fee contains that amount.
 */
export function createStoredQuote(
  { sellToken, buyToken, side, signing }: Pick<ParsedQuoteRequest, 'sellToken' | 'buyToken' | 'side' | 'signing'>,
  { estimate, gas }: Pick<QuoteCandidate, 'estimate' | 'gas'>,
  cost: GasCost,
  expiresAt: number,
): NewQuote {
  const [sellAmount, buyAmount] = getWholeAmounts(side, estimate.amount);
  const fee = computeNetworkFee(gas, cost);
  const body: Omit<StoredOrderQuote, 'metadata'> = {
    gasAmount: gas.toString(),
    gasPrice: formatDecimal(cost.gasPrice),
    sellTokenPrice: formatDecimal(cost.sellTokenPrice),
    sellAmount: sellAmount.toString(),
    buyAmount: buyAmount.toString(),
    feeAmount: fee.toString(),
    solver: estimate.solver,
    verified: estimate.verified,
  };
  return {
    sellToken,
    buyToken,
    expiresAt,
    kind: side.kind,
    amount: getFixedAmount(side).toString(),
    quoteKind: getQuoteKind(signing),
    rank: getRank(estimate.verified, sellAmount + fee, buyAmount),
    quote: { body: JSON.stringify(body), metadata: estimate.metadata },
  };
}

function getWholeAmounts(side: QuoteSide, estimated: bigint): readonly [sellAmount: bigint, buyAmount: bigint] {
  const fixed = getFixedAmount(side);
  return side.kind === 'sell' ? [fixed, estimated] : [estimated, fixed];
}

/**
 * Returns the sort key of a quote: verified quotes first, then by the rate of bought to sold amount with fee. The rate
 * is a 256-bit fixed-point number; amounts have at most 256 bits, so 512 bits are sufficient.
 */
function getRank(verified: boolean, sold: bigint, bought: bigint): string {
  return `${verified ? 1 : 0}${((bought << 256n) / sold).toString(16).padStart(128, '0')}`;
}
