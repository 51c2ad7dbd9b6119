import type { Address } from '../protocol/hex.ts';
import type { UsdPriceCall, UsdPriceQuery } from './prices.ts';

/** An account that holds a token. */
export interface TokenHolder {
  readonly address: Address;
  /** Atoms, decimal. */
  readonly balance: string;
}

/** A source of the largest holders of a token. Sources are queried in order until one returns holders. */
export interface TokenHolderSource {
  /** Name for observations. */
  readonly name: string;
  /**
   * Returns the largest holders, the largest first, or `undefined` if this source does not have the token. MUST reject
   * if the query fails.
   */
  topHolders(
    query: UsdPriceQuery,
    call: UsdPriceCall,
  ): readonly TokenHolder[] | undefined | Promise<readonly TokenHolder[] | undefined>;
}
