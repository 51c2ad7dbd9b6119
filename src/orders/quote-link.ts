import type { OrderQuote, QuoteTerms } from '../ports/quotes.ts';
import type { OrderData } from '../protocol/order.ts';
import type { AdmissionContext } from './admission.ts';
import type { VerifiedOrder } from './verified-order.ts';

/**
 * Finds the quote that an order was placed upon: the one it names, or else the best that fits. A quote that does not
 * fit never fails an order (decision 3.3).
 */
export async function findQuote(
  { data, creation: { quoteId } }: VerifiedOrder,
  { store, clock, quoting }: AdmissionContext,
): Promise<OrderQuote | undefined> {
  if (quoteId === undefined && !quoting) return undefined;
  const named = quoteId === undefined ? {} : { id: quoteId };
  return store.quotes.match({ ...toTerms(data), ...named, quoteKind: 'standard', now: clock.now() });
}

/** What an order has in common with the quote it was placed upon. */
function toTerms({ sellToken, buyToken, kind, sellAmount, buyAmount }: OrderData): QuoteTerms {
  return { sellToken, buyToken, kind, amount: (kind === 'sell' ? sellAmount : buyAmount).toString() };
}
