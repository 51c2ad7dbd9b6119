/**
 * Another order book in front of which a book runs, over HTTP: `orderBookUpstream` relays and follows orders,
 * `orderBookQuotes` requests quotes.
 *
 * @module
 */

export type { Reloadable, UpstreamAccessOptions, UpstreamHeaders } from './options.ts';
export type { OrderBookQuotesOptions } from './quotes-estimator.ts';
export { orderBookQuotes } from './quotes-estimator.ts';
export type { OrderBookUpstreamOptions } from './upstream.ts';
export { orderBookUpstream } from './upstream.ts';
