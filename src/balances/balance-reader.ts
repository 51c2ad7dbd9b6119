import { DeadlineError, withDeadline } from '../concurrency/abort.ts';
import { setBounded } from '../concurrency/bounded-map.ts';
import { OrderBookError } from '../errors.ts';
import type { ChainCall, ChainClient, Funds, FundsQuery, TokenInfo } from '../ports/chain-client.ts';
import { type Clock, isRecent, readMonotonic } from '../ports/clock.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import { getNativeCurrency } from '../protocol/native-currency.ts';
import type { BalanceApi } from '../records/balance-api.ts';
import type { BalanceCallOptions, TokenBalance } from '../records/results.ts';
import { assertKnownOptions, requireAddress, requireList } from '../validation/options.ts';

/** The node that is queried, and what the book provides to its queries. */
export interface BalancesContext {
  readonly chain: ChainClient | undefined;
  readonly chainId: number;
  readonly vaultRelayer: Address;
  readonly clock: Clock;
  /** Time limit for the chain, in milliseconds. */
  readonly deadline: number;
  readonly onFailure: (failure: unknown) => void;
}

/** Maximum number of cached tokens, and of cached addresses without a token; the oldest are dropped first. */
const MAX_TOKENS = 10_000;

/** Number of pairs per chain query, which every chain client must support. */
const PAIRS_PER_QUERY = 100;

/** Milliseconds until a token is queried again: its contract can be renamed or replaced. */
const TOKEN_TTL = 86_400_000;

/** Milliseconds until an address without a token, or a token without decimals, is queried again. */
const MISSING_TTL = 600_000;

export function createBalanceReader(context: BalancesContext): Omit<BalanceApi, 'available'> {
  const { chain, vaultRelayer, clock, deadline, onFailure } = context;
  const native: TokenInfo = getNativeCurrency(context.chainId);
  const getTokensInfo = createTokenInfoReader(chain, native, clock);

  async function getBalances(owner: Address, tokens: readonly Address[], call: ChainCall): Promise<TokenBalance[]> {
    const readsInfo = chain?.tokenInfo !== undefined || chain?.tokensInfo !== undefined;
    const infos = readsInfo ? await getTokensInfo(tokens, call) : new Map<Address, TokenInfo>();
    // Without token metadata, every address is treated as a token.
    const found = readsInfo ? tokens.filter((token) => infos.has(token)) : tokens;
    const balances: TokenBalance[] = [];
    for (let i = 0; i < found.length; i += PAIRS_PER_QUERY) {
      const batch = found.slice(i, i + PAIRS_PER_QUERY);
      const funds = await getFunds(
        batch.map((token) => ({ owner, token, spender: vaultRelayer })),
        call,
      );
      for (const [n, address] of batch.entries()) {
        const read = funds[n];
        if (read === undefined) continue; // an unknown balance is not 0
        const info = address === NATIVE_MARKER ? native : infos.get(address);
        const { balance, allowance } = read;
        balances.push({ balance: String(balance), allowance: String(allowance), token: { address, ...info } });
      }
    }
    return balances;
  }

  async function getFunds(queries: readonly FundsQuery[], call: ChainCall): Promise<readonly (Funds | undefined)[]> {
    if (chain?.balancesAndAllowances !== undefined)
      return requireComplete(await chain.balancesAndAllowances(queries, call), queries);
    if (chain?.balanceAndAllowance === undefined)
      throw createUnavailableError('this book has no chain client for balances');
    return Promise.all(queries.map((query) => chain.balanceAndAllowance?.(query, call)));
  }

  async function runQuery<T>(query: (call: ChainCall) => Promise<T>, options: BalanceCallOptions = {}): Promise<T> {
    assertKnownOptions('balances', options, ['signal']);
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
    async get(account, tokens, options) {
      const owner = requireAddress('account', account);
      const distinct = [...new Set(requireList('tokens', tokens).map((token) => requireAddress('tokens', token)))];
      return runQuery((call) => getBalances(owner, distinct, call), options);
    },
    async funds(pairs, options) {
      const result: (Funds | undefined)[] = [];
      requireList('pairs', pairs);
      for (let i = 0; i < pairs.length; i += PAIRS_PER_QUERY) {
        const queries = pairs.slice(i, i + PAIRS_PER_QUERY).map((pair) => ({ ...pair, spender: vaultRelayer }));
        result.push(...(await runQuery((call) => getFunds(queries, call), options)));
      }
      return result;
    },
    async tokens(texts, options) {
      const tokens = [...new Set(requireList('tokens', texts).map((text) => requireAddress('tokens', text)))];
      return runQuery((call) => getTokensInfo(tokens, call), options);
    },
    async token(text, options) {
      const token = requireAddress('token', text);
      return (await runQuery((call) => getTokensInfo([token], call), options)).get(token);
    },
  };
}

/** Creates the function that returns the metadata of tokens. Only addresses that are not cached are queried. */
function createTokenInfoReader(chain: ChainClient | undefined, native: TokenInfo, clock: Clock) {
  /** Tokens, and when they were queried, in milliseconds of `readMonotonic`. */
  const cache = new Map<Address, { readonly info: TokenInfo; readonly queriedAt: number }>();
  /** Addresses without a token, and when they were queried, in milliseconds of `readMonotonic`. */
  const missing = new Map<Address, number>();

  /** Returns whether an address had no token a short time ago. */
  function isMissing(token: Address): boolean {
    const queriedAt = missing.get(token);
    return queriedAt !== undefined && isRecent(clock, queriedAt, MISSING_TTL);
  }

  /** Returns the metadata of a token that was queried recently. */
  function getCached(token: Address): TokenInfo | undefined {
    if (token === NATIVE_MARKER) return native;
    const entry = cache.get(token);
    const ttl = entry?.info.decimals === undefined ? MISSING_TTL : TOKEN_TTL;
    return entry !== undefined && isRecent(clock, entry.queriedAt, ttl) ? entry.info : undefined;
  }

  async function getTokensInfo(tokens: readonly Address[], call: ChainCall): Promise<Map<Address, TokenInfo>> {
    const known = new Map<Address, TokenInfo>();
    const unknown: Address[] = [];
    for (const token of tokens) {
      const info = getCached(token);
      if (info !== undefined) known.set(token, info);
      else if (!isMissing(token)) unknown.push(token);
    }
    for (let i = 0; i < unknown.length; i += PAIRS_PER_QUERY) {
      const batch = unknown.slice(i, i + PAIRS_PER_QUERY);
      const infos = await queryTokens(batch, call);
      for (const [n, token] of batch.entries()) {
        const info = toTokenInfo(infos[n]);
        if (info === undefined) setBounded(missing, token, readMonotonic(clock), MAX_TOKENS);
        else {
          setBounded(cache, token, { info, queriedAt: readMonotonic(clock) }, MAX_TOKENS);
          known.set(token, info);
        }
      }
    }
    return known;
  }

  async function queryTokens(tokens: readonly Address[], call: ChainCall): Promise<readonly (TokenInfo | undefined)[]> {
    if (chain?.tokensInfo !== undefined) return requireComplete(await chain.tokensInfo(tokens, call), tokens);
    return Promise.all(tokens.map((token) => chain?.tokenInfo?.(token, call)));
  }

  return getTokensInfo;
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

/** Checks that a chain client has returned a result per query. */
function requireComplete<T>(results: readonly T[], queries: readonly unknown[]): readonly T[] {
  if (results.length === queries.length) return results;
  throw createUnavailableError('the chain query returned an incomplete result');
}

function createUnavailableError(description: string): OrderBookError {
  return new OrderBookError('ChainUnavailable', description);
}
