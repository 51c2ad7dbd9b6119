import type { PriceHistorySource } from '../../ports/price-history.ts';

/** Options of the suggested slippage tolerance. */
export interface SlippageOptions {
  /**
   * Sources of past prices. They are queried in order until one returns a history. The own trades and prices of the
   * books come last. Default: none.
   */
  readonly histories?: readonly PriceHistorySource[];
  /**
   * A token with the value of one dollar for each chain id. The own history of other tokens is computed from trades
   * with it. Default: none, and the own history consists of prices in US dollars that were read.
   */
  readonly dollarTokens?: Readonly<Record<number, { readonly token: string; readonly decimals: number }>>;
  /** Tolerance of a pair with unknown volatility, in basis points. 0 to 10000. Default: 50. */
  readonly defaultBps?: number;
}
