import type { LatePair, NewQuoteResult, OrderQuoting } from '../admission/order-quoting.ts';
import type { VerifiedOrder } from '../admission/verified-order.ts';
import { withDeadline } from '../concurrency/abort.ts';
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
const PART = 0.05;
/** The part of the time after which a response is late: timers may be early. */
const LATE = 0.99;
/** Pairs of tokens that are kept. */
const MAX_PAIRS = 1000;

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
  const pair = `${sellToken} ${buyToken}`;
  const late = quoting.late.get(pair);
  const isLate = late !== undefined && late.count >= MAX_LATE;
  const timeout = isLate ? Math.ceil(quoting.timeout * PART) : quoting.timeout;
  try {
    // Both requests share the calls of the estimators.
    if (isLate && !late.isProbing) probe(late);
    return await withDeadline(clock, timeout + STORE_TIME, async () => {
      const result = await (isLate ? request(timeout) : requestTimed());
      if (result.status === 'rejected' || result.quote.id === null) return undefined;
      return store.quotes.match({ ...query, now: clock.now(), id: result.quote.id });
    });
  } catch (failure) {
    onFailure(failure); // an order must not depend on estimators
    return undefined;
  }

  /** Requests a quote for the whole time, and counts whether all estimators have responded. */
  async function requestTimed(): Promise<NewQuoteResult> {
    const startedAt = clock.now();
    const result = await request(quoting.timeout);
    if (clock.now() < startedAt + quoting.timeout * LATE) quoting.late.delete(pair);
    else countLate(quoting.late, pair);
    return result;
  }

  /** Finds out whether the estimators respond again, without an order that waits for it. One request at a time. */
  function probe(pair: LatePair): void {
    pair.isProbing = true;
    const end = () => {
      pair.isProbing = false;
    };
    // The request of the order reports a failure.
    requestTimed().then(end, end);
  }
}

function countLate(pairs: OrderQuoting['late'], pair: string): void {
  const known = pairs.get(pair);
  if (known !== undefined) known.count++;
  else {
    if (pairs.size >= MAX_PAIRS) pairs.clear();
    pairs.set(pair, { count: 1, isProbing: false });
  }
}
