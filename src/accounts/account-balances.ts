import type { BalanceCallOptions, TokenBalance } from '../balances/balances.ts';
import type { Clock } from '../ports/clock.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import type { KnownBook } from './account-books.ts';
import { productionBook } from './account-books.ts';
import { AccountError } from './account-error.ts';
import type { BalanceEvent, WatchedAccount } from './balance-watch.ts';
import { createBalanceWatch } from './balance-watch.ts';
import { requireAccount } from './notification-list.ts';

/** The verbs on balances. Each asks the chain of the production book of a chain id. */
export interface AccountBalances {
  /**
   * What an account has of tokens, and what the vault relayer may move of them. Rejects with an `AccountError` of 400 for
   * a chain without a book and for no tokens, more than a hundred or what is no address, of 503 where the book has no
   * chain to ask; with an `OrderBookError` `ChainUnavailable` when the chain does not answer.
   */
  get(
    chainId: number,
    account: string,
    tokens: readonly string[],
    options?: BalanceCallOptions,
  ): Promise<TokenBalance[]>;
  /**
   * The same, and then what changes, until the reader leaves. Throws as `get` rejects, but that a chain which does not
   * answer is an event.
   */
  watch(
    chainId: number,
    account: string,
    tokens: readonly string[],
    options?: BalanceCallOptions,
  ): AsyncIterable<BalanceEvent>;
}

/** Tokens that one question may name. */
const MAX_TOKENS = 100;

export interface AccountBalancesContext {
  readonly books: readonly KnownBook[];
  readonly clock: Clock;
  /** Milliseconds between two readings of a watched account. */
  readonly interval: number;
  /** Throws when the interface is not started. */
  readonly started: () => void;
}

/** The verbs, and how all streams are ended. */
export function createAccountBalances({ books, clock, interval, started }: AccountBalancesContext) {
  const streams = createBalanceWatch(clock, interval);

  function find(chainId: number, account: string): WatchedAccount {
    const owner = requireAccount(account);
    const book = productionBook(books, chainId);
    if (book === undefined) throw new AccountError(400, 'Unsupported chain');
    if (!book.balances.available) throw new AccountError(503, 'Balances are not available on this chain');
    started();
    return { chainId, account: owner, balances: book.balances };
  }

  const verbs: AccountBalances = {
    async get(chainId, account, tokens, options) {
      const watched = find(chainId, account);
      return watched.balances.get(watched.account, requireTokens(tokens), options);
    },
    watch(chainId, account, tokens, { signal } = {}) {
      return streams.watch(find(chainId, account), requireTokens(tokens), signal);
    },
  };
  return { verbs, close: streams.close };
}

function requireTokens(texts: readonly string[]): Address[] {
  const tokens = new Set<Address>();
  for (const text of texts) {
    const token = parseHex(text, 20);
    if (token === undefined) throw new AccountError(400, `Invalid Ethereum address: ${text.slice(0, 80)}`);
    tokens.add(token);
  }
  if (tokens.size === 0) throw new AccountError(400, 'At least one token address is required');
  if (tokens.size > MAX_TOKENS) throw new AccountError(400, `At most ${MAX_TOKENS} token addresses are allowed`);
  return [...tokens];
}
