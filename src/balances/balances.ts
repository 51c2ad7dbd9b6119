import { DeadlineError, withDeadline } from '../concurrency/deadline.ts';
import { OrderBookError } from '../errors.ts';
import type { ChainCall, ChainClient, Funds, FundsQuery, TokenInfo } from '../ports/chain-client.ts';
import type { Clock } from '../ports/clock.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';

/** An account's balance of a token. */
export interface TokenBalance {
  /** Atoms, as decimal text. */
  readonly balance: string;
  /** Allowance of the vault relayer in atoms, as decimal text. */
  readonly allowance: string;
  readonly token: { readonly address: Address } & TokenInfo;
}

/** Options of a balance call. */
export interface BalanceCallOptions {
  /** Aborts the call when the result is no longer needed. The call rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** Balance methods of a book. They query the chain. */
export interface BalanceApi {
  /**
   * Whether the book has a chain client that reads balances. Without one, every method rejects with `ChainUnavailable`.
   */
  readonly available: boolean;
  /**
   * Returns an account's balances of tokens, without duplicates, in input order. Addresses without a token contract are
   * omitted; `0xeeee…ee` is native currency. Rejects with `InvalidParameter` for an invalid address, and with
   * `ChainUnavailable` if a chain query fails.
   */
  get(account: string, tokens: readonly string[], options?: BalanceCallOptions): Promise<TokenBalance[]>;
  /**
   * Returns balances and allowances of owner and token pairs, in input order, with 100 pairs per chain query. Rejects
   * with `ChainUnavailable` if a chain query fails.
   */
  funds(pairs: readonly FundsPair[], options?: BalanceCallOptions): Promise<Funds[]>;
  /**
   * Returns the metadata of a token; `undefined` if it is not a token, or if there is no chain client. Rejects like
   * `get`.
   */
  token(token: string, options?: BalanceCallOptions): Promise<TokenInfo | undefined>;
}

/** An owner and a token. */
export type FundsPair = Omit<FundsQuery, 'spender'>;

export interface BalancesContext {
  readonly chain: ChainClient | undefined;
  readonly vaultRelayer: Address;
  readonly clock: Clock;
  /** Time limit for the chain, in milliseconds. */
  readonly deadline: number;
  readonly onFailure: (failure: unknown) => void;
}

/** Maximum number of cached tokens; the oldest are dropped first. */
const MAX_TOKENS = 10_000;

/** Number of pairs per chain query, which every chain client must support. */
const PAIRS_PER_QUERY = 100;

/** Native currency has 18 decimals on every chain of the protocol. */
const NATIVE: TokenInfo = { decimals: 18 };

export function createBalances({ chain, vaultRelayer, clock, deadline, onFailure }: BalancesContext): BalanceApi {
  const cache = new Map<Address, TokenInfo>();

  async function getTokenInfo(token: Address, call: ChainCall): Promise<TokenInfo | undefined> {
    if (token === NATIVE_MARKER) return NATIVE;
    const cached = cache.get(token);
    if (cached !== undefined || chain?.tokenInfo === undefined) return cached;
    const info = toTokenInfo(await chain.tokenInfo(token, call));
    if (info === undefined) return undefined;
    cache.set(token, info);
    const [oldest] = cache.keys();
    if (cache.size > MAX_TOKENS && oldest !== undefined) cache.delete(oldest);
    return info;
  }

  async function getBalance(owner: Address, token: Address, call: ChainCall): Promise<TokenBalance[]> {
    const info = await getTokenInfo(token, call);
    // Without token metadata, every address is treated as a token.
    if (info === undefined && chain?.tokenInfo !== undefined) return [];
    const funds = await chain?.balanceAndAllowance?.({ owner, token, spender: vaultRelayer }, call);
    const { balance, allowance } = funds ?? throwNoChain();
    return [{ balance: balance.toString(), allowance: allowance.toString(), token: { address: token, ...info } }];
  }

  async function getFunds(queries: readonly FundsQuery[], call: ChainCall): Promise<readonly Funds[]> {
    if (chain?.balancesAndAllowances !== undefined) return chain.balancesAndAllowances(queries, call);
    const funds = await Promise.all(queries.map((query) => chain?.balanceAndAllowance?.(query, call)));
    return funds.map((each) => each ?? throwNoChain());
  }

  function throwNoChain(): never {
    throw createUnavailableError('this book has no chain client for balances');
  }

  async function runQuery<T>(query: (call: ChainCall) => Promise<T>, options: BalanceCallOptions = {}): Promise<T> {
    options.signal?.throwIfAborted();
    try {
      return await withDeadline(clock, deadline, (signal) => query({ signal }), options.signal);
    } catch (failure) {
      if (options.signal?.aborted || failure instanceof OrderBookError) throw failure;
      onFailure(failure);
      throw createUnavailableError(
        failure instanceof DeadlineError ? 'the chain query timed out' : 'the chain query failed',
      );
    }
  }

  return {
    available: chain?.balanceAndAllowance !== undefined,
    async get(account, tokens, options) {
      const owner = requireAddress('account', account);
      const distinct = [...new Set(tokens.map((token) => requireAddress('tokens', token)))];
      const each = await runQuery(
        (call) => Promise.all(distinct.map((token) => getBalance(owner, token, call))),
        options,
      );
      return each.flat();
    },
    async funds(pairs, options) {
      const result: Funds[] = [];
      for (let i = 0; i < pairs.length; i += PAIRS_PER_QUERY) {
        const queries = pairs.slice(i, i + PAIRS_PER_QUERY).map((pair) => ({ ...pair, spender: vaultRelayer }));
        const funds = await runQuery((call) => getFunds(queries, call), options);
        if (funds.length !== queries.length)
          throw createUnavailableError('the chain query returned an incomplete result');
        result.push(...funds);
      }
      return result;
    },
    async token(text, options) {
      const token = requireAddress('token', text);
      return runQuery((call) => getTokenInfo(token, call), options);
    },
  };
}

/** Keeps the members with a valid type, because tokens are untrusted contracts. */
function toTokenInfo(info: TokenInfo | undefined): TokenInfo | undefined {
  if (info === undefined) return undefined;
  const { decimals, symbol, name } = info;
  return {
    ...(Number.isInteger(decimals) && Number(decimals) >= 0 && Number(decimals) <= 255 && { decimals }),
    ...(typeof symbol === 'string' && symbol !== '' && { symbol: symbol.slice(0, MAX_TEXT) }),
    ...(typeof name === 'string' && name !== '' && { name: name.slice(0, MAX_TEXT) }),
  } as TokenInfo; // the members have valid types
}

/** Maximum number of characters of a token name or symbol. */
const MAX_TEXT = 128;

function requireAddress(parameter: string, text: string): Address {
  const address = parseHex(text, 20);
  if (address !== undefined) return address;
  throw new OrderBookError('InvalidParameter', `${parameter}: must be 0x and 40 hex digits`, { parameter });
}

function createUnavailableError(description: string): OrderBookError {
  return new OrderBookError('ChainUnavailable', description);
}
