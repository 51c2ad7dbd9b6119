import type { Clock } from '../ports/clock.ts';
import type { QuoteStore } from '../ports/quotes.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { SoundEstimate } from './estimate-validation.ts';
import type { GasCost } from './fee.ts';
import type { Offer } from './quote-candidate.ts';
import type { ParsedQuoteRequest } from './request.ts';
import { newQuote, quoteKindOf } from './stored-quote.ts';

/** Milliseconds that quotes live, by how their order will be placed (decision 3.5). */
export interface QuoteLifetimes {
  readonly standard: number;
  readonly onchain: number;
}

/** A quote that orders can be linked to. */
export interface KeptQuote {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Stores quotes. */
export interface Keeper {
  keep(request: ParsedQuoteRequest, offer: Offer, cost: GasCost): Promise<KeptQuote>;
}

/**
 * Makes a keeper. Requests that share one answer of a source share its stored quote too, for the first half of its life:
 * whoever gets it has the other half to place an order.
 */
export function createKeeper(quotes: QuoteStore, clock: Clock, lifetimes: QuoteLifetimes): Keeper {
  const kept = new WeakMap<SoundEstimate, Map<string, Keeping>>();

  async function insert(request: ParsedQuoteRequest, offer: Offer, cost: GasCost, expiresAt: number) {
    return { id: await quotes.insert(newQuote(request, offer, cost, expiresAt)), expiresAt };
  }

  return {
    keep(request, offer, cost) {
      const known = kept.get(offer.estimate) ?? new Map<string, Keeping>();
      kept.set(offer.estimate, known);
      // All else that a stored quote is made of comes with the estimate.
      const prices = [cost.gasPrice, cost.sellTokenPrice].map(formatDecimal);
      const key = [quoteKindOf(request.signing), request.buyToken, ...prices].join(' ');
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
  readonly quote: Promise<KeptQuote>;
  readonly sharedUntil: number;
}
