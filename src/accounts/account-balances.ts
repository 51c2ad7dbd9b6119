import { getProductionBook } from '../account-tools/account-books.ts';
import { AccountError } from '../account-tools/account-error.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { createSourceCache } from '../account-tools/source-cache.ts';
import type { TokenBalanceSource, TokenBalancesQuery } from '../ports/token-balances.ts';
import { type Address, parseHex } from '../protocol/hex.ts';
import type { BalanceCallOptions, TokenBalance } from '../records/results.ts';
import { requireList } from '../validation/options.ts';
import { requireAccount, requireChainId } from '../validation/parameters.ts';
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
   * Returns the balances of an account in all tokens that a source has, in atoms by token. `undefined` if no source has
   * the chain. Rejects with an `AccountError` of status 400 for an invalid address, and of status 503 if there is no
   * source, or if a source has failed and no other one has the chain.
   */
  all(chainId: number, account: string): Promise<Readonly<Record<Address, string>> | undefined>;
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

/** Milliseconds for which the balances in all tokens are cached, as in production. */
const ALL_TTL = 5_000;

/** Maximum number of accounts whose balances are cached. */
const MAX_CACHED = 1_000;

/** Time limit per source of balances, in milliseconds. */
const TIMEOUT = 10_000;

/**
 * Creates the balance methods, and the function that ends all streams.
 *
 * @param interval - Interval between two reads of a watched account, in milliseconds.
 * @param sources - Sources of the balances in all tokens.
 * @throws TypeError if the sources are invalid.
 */
export function createAccountBalances(
  tools: Pick<AccountTools, 'books' | 'clock' | 'observer' | 'onFailure' | 'assertStarted'>,
  interval: number,
  sources: readonly TokenBalanceSource[],
) {
  const { books, clock, observer, onFailure, assertStarted } = tools;
  if (!Array.isArray(sources) || sources.some((source) => typeof source?.tokenBalances !== 'function')) {
    throw new TypeError('createAccounts: tokenBalances must be a list of sources');
  }
  const streams = createBalanceWatch(clock, interval);
  const cache = createSourceCache<TokenBalancesQuery, Readonly<Record<Address, string>>>({
    sources: sources.map((source: TokenBalanceSource) => ({
      name: source.name,
      read: (query, call) => source.tokenBalances(query, call),
      onFailure: (_, cause) => onFailure(cause),
    })),
    key: ({ chainId, account }) => `${chainId} ${account}`,
    ttl: ALL_TTL,
    maxEntries: MAX_CACHED,
    timeout: TIMEOUT,
    clock,
    subject: 'tokenBalances',
    reportsOutages: true,
    observer,
  });

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
    async all(chainId, account) {
      const query = { chainId: requireChainId(chainId), account: requireAccount(account) };
      if (sources.length === 0) throw new AccountError(503, 'Token balances are not available on this server');
      assertStarted();
      return (await cache.get(query))?.value;
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
