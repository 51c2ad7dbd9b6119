import type { OrderQuote, QuoteQuery } from '../ports/quotes.ts';
import type { QuoteApi } from '../quotes/quote-api.ts';
import type { AdmissionContext } from './admission.ts';
import type { VerifiedOrder } from './verified-order.ts';

/** How orders without a fitting quote are quoted. */
export interface OrderQuoting {
  readonly requestQuote: QuoteApi['request'];
  /** Time limit for the estimators, in milliseconds. */
  readonly timeout: number;
}

/**
 * Requests a quote for an order that has none. The time is bounded by the options of quotes.
 *
 * @returns `undefined` if there is no price. A failure is reported, and the order is stored without a quote.
 */
export async function requestNewQuote(
  { data, owner, document, creation }: VerifiedOrder,
  query: QuoteQuery,
  { store, clock, onFailure }: AdmissionContext,
  { requestQuote, timeout }: OrderQuoting,
): Promise<OrderQuote | undefined> {
  const { sellToken, buyToken, receiver, kind, sellAmount, buyAmount, validTo } = data;
  const size = kind === 'sell' ? { sellAmountAfterFee: String(sellAmount) } : { buyAmountAfterFee: String(buyAmount) };
  try {
    const result = await requestQuote({
      sellToken,
      buyToken,
      receiver,
      kind,
      validTo,
      from: owner,
      signingScheme: creation.signingScheme,
      appData: document.text,
      timeout,
      ...size,
    });
    if (result.status === 'rejected' || result.quote.id === null) return undefined;
    return await store.quotes.match({ ...query, now: clock.now(), id: result.quote.id });
  } catch (failure) {
    onFailure(failure); // an order must not depend on estimators
    return undefined;
  }
}
