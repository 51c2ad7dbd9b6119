/**
 * Quotes: estimators, their race, verification and fees.
 *
 * @module
 */

export type {
  QuotedOrder,
  QuoteResponse,
  QuoteResult,
  QuoteStreamEvent,
  QuoteStreamResult,
} from '../records/quote-results.ts';
export type { EstimatorOutcome } from './estimator-race.ts';
export type { EstimatorCounters, EstimatorObservation } from './estimators.ts';
export type { NativePriceResult, QuoteApi, QuoteCallOptions } from './quote-api.ts';
export type { QuoteOptions } from './quote-options.ts';
export { createQuotes } from './quotes.ts';
