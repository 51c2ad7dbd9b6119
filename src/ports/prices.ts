import type { Address } from '../protocol/hex.ts';

/** What a price is asked of. */
export interface UsdPriceQuery {
  readonly chainId: number;
  /** Lower case. `0xeeee…ee` stands for the chain's native currency. */
  readonly token: Address;
}

/** Travels with each question. */
export interface UsdPriceCall {
  /** Aborted when the answer would come too late. */
  readonly signal: AbortSignal;
}

/**
 * A source of prices in US dollars. Several stand in a row; the next one is asked when one does not know a price or
 * fails.
 */
export interface UsdPriceSource {
  /** For observations. */
  readonly name: string;
  /**
   * Dollars for one whole token, a number above 0, or `undefined` when this source knows none. MUST reject when it could
   * not find out: an outage MUST NOT look like a token without a price. MUST NOT assume how many decimals a token has.
   */
  usdPrice(query: UsdPriceQuery, call: UsdPriceCall): number | undefined | Promise<number | undefined>;
}
