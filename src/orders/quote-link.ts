import type { NewQuoteResult, OrderQuoting } from '../admission/order-quoting.ts';
import type { VerifiedOrder } from '../admission/verified-order.ts';
import { withDeadline } from '../concurrency/deadline.ts';
import type { Clock } from '../ports/clock.ts';
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

/** Successive requests in which an estimator did not respond, after which orders wait for a part of the time only. */
const MAX_LATE = 3;
const PART = 0.1;
/** Milliseconds by which a timer may be early. */
const TIMER_ERROR = 5;

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
  const request = (timeout: number) =>
    quoting.requestQuote({
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
  const isLate = quoting.late >= MAX_LATE;
  const timeout = isLate ? Math.ceil(quoting.timeout * PART) : quoting.timeout;
  try {
    // Both requests share the calls of the estimators.
    if (isLate) probe(clock, quoting, request);
    return await withDeadline(clock, timeout + STORE_TIME, async () => {
      const result = await (isLate ? request(timeout) : requestTimed(clock, quoting, request));
      if (result.status === 'rejected' || result.quote.id === null) return undefined;
      return store.quotes.match({ ...query, now: clock.now(), id: result.quote.id });
    });
  } catch (failure) {
    onFailure(failure); // an order must not depend on estimators
    return undefined;
  }
}

type QuoteCall = (timeout: number) => Promise<NewQuoteResult>;

/** Requests a quote for the whole time, and counts whether all estimators have responded. */
async function requestTimed(clock: Clock, quoting: OrderQuoting, request: QuoteCall): Promise<NewQuoteResult> {
  const startedAt = clock.now();
  const result = await request(quoting.timeout);
  quoting.late = clock.now() < startedAt + quoting.timeout - TIMER_ERROR ? 0 : quoting.late + 1;
  return result;
}

/** Finds out whether the estimators respond again, without an order that waits for it. One request at a time. */
function probe(clock: Clock, quoting: OrderQuoting, request: QuoteCall): void {
  if (quoting.isProbing) return;
  quoting.isProbing = true;
  const end = () => {
    quoting.isProbing = false;
  };
  // The request of the order reports a failure.
  requestTimed(clock, quoting, request).then(end, end);
}
