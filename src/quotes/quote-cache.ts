import type { Clock } from '../ports/clock.ts';
import type { QuoteStore } from '../ports/quote-store.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import type { GasCost } from './fee.ts';
import type { QuoteCandidate } from './quote-candidate.ts';
import type { ParsedQuoteRequest } from './request.ts';
import { createStoredQuote, getQuoteKind } from './stored-quote.ts';

/** Expiry of quotes in milliseconds, by how their order will be placed. See docs/internals/decisions.md#d3-5. */
export interface QuoteLifetimes {
  readonly standard: number;
  readonly onchain: number;
}

/** A stored quote. */
export interface PersistedQuote {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Stores quotes. */
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
