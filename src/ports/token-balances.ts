import type { Address } from '../protocol/hex.ts';

/** The account whose balances are read. */
export interface TokenBalancesQuery {
  readonly chainId: number;
  /** Lower case. */
  readonly account: Address;
}

/** A source of the balances of an account in all tokens. Sources are queried in order until one has the chain. */
export interface TokenBalanceSource {
  /** Name for observations. */
  readonly name: string;
  /**
   * Returns the balances above 0 in atoms, decimal, by token in lower case; native currency has the address
   * `0xeeee…ee`. Returns `undefined` if this source does not have the chain. MUST reject if the query fails.
   */
  tokenBalances(
    query: TokenBalancesQuery,
    call: { readonly signal: AbortSignal },
  ): Readonly<Record<Address, string>> | undefined | Promise<Readonly<Record<Address, string>> | undefined>;
}
