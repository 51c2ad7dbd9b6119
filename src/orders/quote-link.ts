import type { VerifiedOrder } from '../admission/verified-order.ts';
import { lazy } from '../concurrency/lazy.ts';
import type { OrderQuote, QuoteTerms } from '../ports/quote-store.ts';
import type { OrderData } from '../protocol/order.ts';
import type { AdmissionContext } from './admission.ts';

const newQuote = lazy(() => import('./new-quote.ts'));

/**
 * Returns the quote of an order: the one that it names, otherwise the best that matches, otherwise a new one. A quote
 * that does not match, and a trade without a quote, never reject an order. See docs/internals/decisions.md#d3-3.
 */
export async function findQuote(order: VerifiedOrder, context: AdmissionContext): Promise<OrderQuote | undefined> {
  const { data, creation } = order;
  const { store, clock, orderQuoting } = context;
  const { quoteId } = creation;
  const named = quoteId === undefined ? {} : { id: quoteId };
  const query = { ...toTerms(data), quoteKind: 'standard', now: clock.now() } as const;
  const match = await store.quotes.match({ ...query, ...named });
  if (match !== undefined || orderQuoting === undefined) return match;
  return newQuote.use(({ requestNewQuote }) => requestNewQuote(order, query, context, orderQuoting));
}

/** Returns the values that an order and its quote must have in common. */
function toTerms({ sellToken, buyToken, kind, sellAmount, buyAmount }: OrderData): QuoteTerms {
  return { sellToken, buyToken, kind, amount: (kind === 'sell' ? sellAmount : buyAmount).toString() };
}
