import type { Address } from '../protocol/hex.ts';

/** The token whose price is queried. */
export interface UsdPriceQuery {
  readonly chainId: number;
  /** Lower case. `0xeeee…ee` denotes the chain's native currency. */
  readonly token: Address;
}

/** The context of each price query. */
export interface UsdPriceCall {
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
}

/** A source of prices in US dollars. Sources are queried in order until one returns a price. */
export interface UsdPriceSource {
  /** Name for observations. */
  readonly name: string;
  /**
   * Returns the price of one whole token in US dollars, a number above 0, or `undefined` if this source has no price.
   * MUST reject if the query fails: an outage MUST NOT look like a token without a price. MUST NOT assume how many
   * decimals a token has.
   */
  usdPrice(query: UsdPriceQuery, call: UsdPriceCall): number | undefined | Promise<number | undefined>;
}
