import type { Funds, FundsQuery, TokenInfo } from '../ports/chain-client.ts';
import type { Address } from '../protocol/hex.ts';
import type { BalanceCallOptions, TokenBalance } from './results.ts';

/** Balance methods of a book. They query the chain. */
export interface BalanceApi {
  /**
   * Whether the book has a chain client that reads balances. Without one, every method rejects with `ChainUnavailable`.
   */
  readonly available: boolean;
  /**
   * Returns an account's balances of tokens, without duplicates, in input order. Addresses without a token contract are
   * omitted, and so are tokens whose balance or allowance cannot be read; `0xeeee…ee` is native currency. Rejects with
   * `InvalidParameter` for an invalid address, and with `ChainUnavailable` if a chain query fails.
   */
  get(account: string, tokens: readonly string[], options?: BalanceCallOptions): Promise<TokenBalance[]>;
  /**
   * Returns balances and allowances of owner and token pairs, in input order, with 100 pairs per chain query. A result
   * is `undefined` if the token does not return both amounts. Rejects with `ChainUnavailable` if a chain query fails.
   */
  funds(pairs: readonly FundsPair[], options?: BalanceCallOptions): Promise<(Funds | undefined)[]>;
  /**
   * Returns the metadata of tokens by address, with 100 tokens per chain query. Addresses that are not a token are
   * missing. Results are cached. Rejects like `get`.
   */
  tokens(tokens: readonly string[], options?: BalanceCallOptions): Promise<ReadonlyMap<Address, TokenInfo>>;
  /**
   * Returns the metadata of a token; `undefined` if it is not a token, or if there is no chain client. Rejects like
   * `get`.
   */
  token(token: string, options?: BalanceCallOptions): Promise<TokenInfo | undefined>;
}

/** An owner and a token. */
export type FundsPair = Omit<FundsQuery, 'spender'>;
