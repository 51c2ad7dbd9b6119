import type { OrderBookError } from '../errors.ts';
import type { QuoteRequest } from '../protocol/quote-request.ts';

/** The part of the result of a quote request that an order needs. */
export type NewQuoteResult =
  | { readonly status: 'rejected'; readonly error: OrderBookError }
  | { readonly status: 'quoted'; readonly quote: { readonly id: number | null } };

/** How orders without a matching quote are quoted. */
export interface OrderQuoting {
  readonly requestQuote: (request: QuoteRequest) => Promise<NewQuoteResult>;
  /** Time limit for the estimators, in milliseconds. */
  readonly timeout: number;
  /** The pairs of tokens for which an estimator did not respond in time, so that one client slows no other pair. */
  readonly late: Map<string, LatePair>;
}

/** What the last requests for a pair of tokens have shown. */
export interface LatePair {
  /** Number of successive requests in which an estimator did not respond in time. */
  count: number;
  /** Whether a request finds out if the estimators respond again. */
  isProbing: boolean;
}
