import type { OrderQuote, QuoteTerms } from '../ports/quotes.ts';
import type { OrderData } from '../protocol/order.ts';
import type { AdmissionContext } from './admission.ts';
import type { VerifiedOrder } from './verified-order.ts';

/**
 * Returns the quote of an order: the one that it names, otherwise the best that matches. A quote that does not match
 * never rejects an order. See docs/internals/decisions.md#d3-3.
 */
export async function findQuote(
  { data, creation: { quoteId } }: VerifiedOrder,
  { store, clock, quoting }: AdmissionContext,
): Promise<OrderQuote | undefined> {
  if (quoteId === undefined && !quoting) return undefined;
  const named = quoteId === undefined ? {} : { id: quoteId };
  return store.quotes.match({ ...toTerms(data), ...named, quoteKind: 'standard', now: clock.now() });
}

/** Returns the values that an order and its quote must have in common. */
function toTerms({ sellToken, buyToken, kind, sellAmount, buyAmount }: OrderData): QuoteTerms {
  return { sellToken, buyToken, kind, amount: (kind === 'sell' ? sellAmount : buyAmount).toString() };
}
