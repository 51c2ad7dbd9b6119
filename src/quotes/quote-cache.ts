import type { Clock } from '../ports/clock.ts';
import type { QuoteStore } from '../ports/quotes.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import type { GasCost } from './fee.ts';
import type { QuoteCandidate } from './quote-candidate.ts';
import type { ParsedQuoteRequest } from './request.ts';
import { getQuoteKind, newQuote } from './stored-quote.ts';

/** Milliseconds that quotes live, by how their order will be placed (decision 3.5). */
export interface QuoteLifetimes {
  readonly standard: number;
  readonly onchain: number;
}

/** A quote that orders can be linked to. */
export interface PersistedQuote {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Stores quotes. */
export interface QuotePersister {
  keep(request: ParsedQuoteRequest, offer: QuoteCandidate, cost: GasCost): Promise<PersistedQuote>;
}

/**
 * Makes a keeper. Requests that share one answer of a source share its stored quote too, for the first half of its life:
 * whoever gets it has the other half to place an order.
 */
export function createQuotePersister(quotes: QuoteStore, clock: Clock, lifetimes: QuoteLifetimes): QuotePersister {
  const kept = new WeakMap<ValidatedEstimate, Map<string, Keeping>>();

  async function insert(request: ParsedQuoteRequest, offer: QuoteCandidate, cost: GasCost, expiresAt: number) {
    return { id: await quotes.insert(newQuote(request, offer, cost, expiresAt)), expiresAt };
  }

  return {
    keep(request, offer, cost) {
      const known = kept.get(offer.estimate) ?? new Map<string, Keeping>();
      kept.set(offer.estimate, known);
      // All else that a stored quote is made of comes with the estimate.
      const prices = [cost.gasPrice, cost.sellTokenPrice].map(formatDecimal);
      const key = [getQuoteKind(request.signing), request.buyToken, ...prices].join(' ');
      const before = known.get(key);
      const now = clock.now();
      if (before !== undefined && now < before.sharedUntil) return before.quote;

      const lifetime = request.signing.onchain ? lifetimes.onchain : lifetimes.standard;
      const quote = insert(request, offer, cost, now + lifetime);
      const keeping = { quote, sharedUntil: now + lifetime / 2 };
      known.set(key, keeping);
      // That one could not be stored is no reason not to try again.
      quote.catch(() => known.get(key) === keeping && known.delete(key));
      return quote;
    },
  };
}

interface Keeping {
  readonly quote: Promise<PersistedQuote>;
  readonly sharedUntil: number;
}
