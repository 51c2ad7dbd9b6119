import type { OrderQuoting } from '../admission/order-quoting.ts';
import type { VerifiedOrder } from '../admission/verified-order.ts';
import { DeadlineError, withDeadline } from '../concurrency/deadline.ts';
import type { OrderQuote, QuoteQuery, QuoteTerms } from '../ports/quote-store.ts';
import type { OrderData } from '../protocol/order.ts';
import type { AdmissionContext } from './admission.ts';

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
  return requestNewQuote(order, query, context, orderQuoting);
}

/** Returns the values that an order and its quote must have in common. */
function toTerms({ sellToken, buyToken, kind, sellAmount, buyAmount }: OrderData): QuoteTerms {
  return { sellToken, buyToken, kind, amount: (kind === 'sell' ? sellAmount : buyAmount).toString() };
}

/** Time in milliseconds that the store may take in addition to the estimators. */
const STORE_TIME = 1000;

/** Successive requests without a response in time after which an order waits for a part of the time only. */
const MAX_UNANSWERED = 3;
const PART = 0.1;

/**
 * Requests a quote for an order that has none. The time is bounded by the options of quotes, also if the store does not
 * respond.
 *
 * @returns `undefined` if there is no price. A failure is reported, and the order is stored without a quote.
 */
async function requestNewQuote(
  { data, owner, document, creation }: VerifiedOrder,
  query: QuoteQuery,
  { store, clock, onFailure }: Pick<AdmissionContext, 'store' | 'clock' | 'onFailure'>,
  quoting: OrderQuoting,
): Promise<OrderQuote | undefined> {
  const { sellToken, buyToken, receiver, kind, sellAmount, buyAmount, validTo } = data;
  const size = kind === 'sell' ? { sellAmountAfterFee: String(sellAmount) } : { buyAmountAfterFee: String(buyAmount) };
  const { timeout } = quoting;
  const isSilent = quoting.unanswered >= MAX_UNANSWERED;
  try {
    return await withDeadline(clock, isSilent ? timeout * PART : timeout + STORE_TIME, async () => {
      const startedAt = clock.now();
      const result = await quoting.requestQuote({
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
      // Also after the deadline: so the first response in time is noticed. Timers may be early.
      const isAnswered = result.status === 'quoted' || clock.now() < startedAt + timeout * (1 - PART);
      quoting.unanswered = isAnswered ? 0 : quoting.unanswered + 1;
      if (result.status === 'rejected' || result.quote.id === null) return undefined;
      return store.quotes.match({ ...query, now: clock.now(), id: result.quote.id });
    });
  } catch (failure) {
    // An order must not depend on estimators.
    if (!(isSilent && failure instanceof DeadlineError)) onFailure(failure);
    return undefined;
  }
}
