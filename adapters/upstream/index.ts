/**
 * Another order book in front of which a book runs, over HTTP: `orderBookUpstream` relays and follows orders,
 * `orderBookQuotes` requests quotes.
 *
 * @module
 */

export type { Reloadable, UpstreamAccessOptions, UpstreamHeaders } from './options.ts';
export { type OrderBookQuotesOptions, orderBookQuotes } from './quotes-estimator.ts';
export { type OrderBookUpstreamOptions, orderBookUpstream } from './upstream.ts';
