import { getProductionBook } from '../account-tools/account-books.ts';
import { AccountError } from '../account-tools/account-error.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { requireAccount } from '../account-tools/parameters.ts';
import { type Address, parseHex } from '../protocol/hex.ts';
import type { BalanceCallOptions, TokenBalance } from '../records/results.ts';
import { requireList } from '../validation/options.ts';
import { type BalanceEvent, createBalanceWatch, type WatchedAccount } from './balance-watch.ts';

/** Balance methods. Each queries the chain through the production book of a chain id. */
export interface AccountBalances {
  /**
   * Returns an account's balances of tokens, and the allowances of the vault relayer. Rejects with an `AccountError` of
   * status 400 for a chain without a book, for an invalid address, and for zero or more than 100 tokens; of status 503
   * if the book has no chain client; with an `OrderBookError` `ChainUnavailable` if the chain query fails.
   */
  get(
    chainId: number,
    account: string,
    tokens: readonly string[],
    options?: BalanceCallOptions,
  ): Promise<TokenBalance[]>;
  /**
   * Streams the balances and then their changes, until the reader leaves. Throws in the same cases as `get`, except
   * that a failed chain query is an event.
   */
  watch(
    chainId: number,
    account: string,
    tokens: readonly string[],
    options?: BalanceCallOptions,
  ): AsyncIterable<BalanceEvent>;
}

/** Maximum number of tokens per request. */
const MAX_TOKENS = 100;

/**
 * Creates the balance methods, and the function that ends all streams.
 *
 * @param interval - Interval between two reads of a watched account, in milliseconds.
 */
export function createAccountBalances(
  { books, clock, assertStarted }: Pick<AccountTools, 'books' | 'clock' | 'assertStarted'>,
  interval: number,
) {
  const streams = createBalanceWatch(clock, interval);

  function findAccount(chainId: number, account: string): WatchedAccount {
    const owner = requireAccount(account);
    const book = getProductionBook(books, chainId);
    if (book === undefined) throw new AccountError(400, 'Unsupported chain');
    if (!book.balances.available) throw new AccountError(503, 'Balances are not available on this chain');
    assertStarted();
    return { chainId, account: owner, balances: book.balances };
  }

  const methods: AccountBalances = {
    async get(chainId, account, tokens, options) {
      const watched = findAccount(chainId, account);
      return watched.balances.get(watched.account, requireTokens(tokens), options);
    },
    watch(chainId, account, tokens, { signal } = {}) {
      return streams.watch(findAccount(chainId, account), requireTokens(tokens), signal);
    },
  };
  return { methods, close: streams.close };
}

function requireTokens(list: readonly string[]): Address[] {
  const tokens = new Set<Address>();
  for (const text of requireList('tokens', list)) {
    const token = parseHex(text, 20);
    if (token === undefined) throw new AccountError(400, `Invalid Ethereum address: ${String(text).slice(0, 80)}`);
    tokens.add(token);
  }
  if (tokens.size === 0) throw new AccountError(400, 'At least one token address is required');
  if (tokens.size > MAX_TOKENS) throw new AccountError(400, `At most ${MAX_TOKENS} token addresses are allowed`);
  return [...tokens];
}
