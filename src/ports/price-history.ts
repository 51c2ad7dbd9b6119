import type { UsdPriceCall, UsdPriceQuery } from './prices.ts';

/** The price of a token at a moment. */
export interface PricePoint {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** US dollars for one whole token. Above 0. */
  readonly price: number;
}

/** A source of past prices in US dollars. Sources are queried in order until one returns a history. */
export interface PriceHistorySource {
  /** Name for observations. */
  readonly name: string;
  /**
   * Returns the prices of the last day, about one each 5 minutes. Returns `undefined` if this source has no history of
   * the token. MUST reject if the query fails: an outage MUST NOT look like a token without a history. A point without
   * a time or a positive price is left out and reported.
   */
  priceHistory(
    query: UsdPriceQuery,
    call: UsdPriceCall,
  ): readonly PricePoint[] | undefined | Promise<readonly PricePoint[] | undefined>;
}
