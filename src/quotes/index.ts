/**
 * Quotes: estimators, their race, verification and fees.
 *
 * @module
 */

export type { EstimatorOutcome } from './estimator-race.ts';
export type { EstimatorCounters, EstimatorObservation } from './estimators.ts';
export type { QuoteResult } from './quote.ts';
export type { NativePriceResult, QuoteApi, QuoteCallOptions } from './quote-api.ts';
export type { QuoteOptions } from './quote-options.ts';
export type { QuoteStreamEvent, QuoteStreamResult } from './quote-stream.ts';
export { createQuotes } from './quotes.ts';
export type { QuotedOrder, QuoteResponse } from './response.ts';
