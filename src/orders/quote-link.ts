import type { OrderQuote, QuoteTerms } from '../ports/quotes.ts';
import type { OrderData } from '../protocol/order.ts';
import type { AdmissionContext } from './admission.ts';
import type { VerifiedOrder } from './verified-order.ts';

/** Returns the quotes of orders, in input order. See `findQuote`. */
export async function findQuotes(
  orders: readonly VerifiedOrder[],
  context: AdmissionContext,
): Promise<readonly (OrderQuote | undefined)[]> {
  if (!context.quoting && orders.every(({ creation }) => creation.quoteId === undefined)) return [];
  return Promise.all(orders.map((order) => findQuote(order, context)));
}

/**
 * Returns the quote of an order: the one that it names, otherwise the best that matches, otherwise a new one. A quote
 * that does not match, and a trade without a quote, never reject an order. See docs/internals/decisions.md#d3-3.
 */
async function findQuote(order: VerifiedOrder, context: AdmissionContext): Promise<OrderQuote | undefined> {
  const { data, creation } = order;
  const { store, clock, quoting, orderQuoting } = context;
  const { quoteId } = creation;
  if (quoteId === undefined && !quoting) return undefined;
  const named = quoteId === undefined ? {} : { id: quoteId };
  const query = { ...toTerms(data), quoteKind: 'standard', now: clock.now() } as const;
  const match = await store.quotes.match({ ...query, ...named });
  if (match !== undefined || orderQuoting === undefined) return match;
  const { requestNewQuote } = await import('./new-quote.ts');
  return requestNewQuote(order, query, context, orderQuoting);
}

/** Returns the values that an order and its quote must have in common. */
function toTerms({ sellToken, buyToken, kind, sellAmount, buyAmount }: OrderData): QuoteTerms {
  return { sellToken, buyToken, kind, amount: (kind === 'sell' ? sellAmount : buyAmount).toString() };
}
