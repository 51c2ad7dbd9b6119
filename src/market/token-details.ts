import * as z from 'zod/mini';
import { getProductionBook, type SourceBook } from '../account-tools/account-books.ts';
import { AccountError } from '../account-tools/account-error.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { createSourceCache } from '../account-tools/source-cache.ts';
import { OrderBookError } from '../errors.ts';
import type { TokenInfo } from '../ports/chain-client.ts';
import type { UsdPriceQuery } from '../ports/prices.ts';
import type { TokenHolder, TokenHolderSource } from '../ports/token-holders.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import { getNativeCurrency } from '../protocol/native-currency.ts';
import { hexSchema, parseShape } from '../protocol/shape.ts';
import { requireList } from '../validation/options.ts';
import { requireChainId, requireToken } from '../validation/parameters.ts';

/** A token with its metadata. A member is absent if it is unknown. */
export interface TokenDetails extends TokenInfo {
  /** Lower case. */
  readonly address: Address;
}

/** Token methods. Metadata comes from the chain, with the cache of the production book of a chain. */
export interface TokenApi {
  /**
   * Returns the metadata of a token (`0xeeee…ee`: native currency), `undefined` if there is no token at the address.
   * Rejects with `InvalidParameter` for an invalid chain id or address; with an `AccountError` of status 400 for a
   * chain without a book, of status 503 if the book has no chain client; with `ChainUnavailable` if a query fails.
   */
  get(chainId: number, token: string): Promise<TokenDetails | undefined>;
  /** Returns the metadata of 1 to 100 tokens in input order. Unknown tokens are left out. Rejects like `get`. */
  getMany(chainId: number, tokens: readonly string[]): Promise<TokenDetails[]>;
  /**
   * Returns the largest holders of a token, `undefined` if no source has them. Rejects with an `AccountError` of status
   * 503 if there is no source; failures of sources do not reject.
   */
  topHolders(chainId: number, token: string): Promise<readonly TokenHolder[] | undefined>;
}

/** Maximum number of tokens per request. */
export const MAX_TOKENS = 100;

/** Milliseconds for which holders are cached. */
const HOLDERS_TTL = 120_000;

/** Maximum number of tokens whose holders are cached. */
const MAX_CACHED_HOLDERS = 1_000;

/** Time limit per source of holders, in milliseconds. */
const TIMEOUT = 5_000;

const SIZE = { error: `must have 1 to ${MAX_TOKENS} elements` };

export const tokenAddresses = /* @__PURE__ */ (() =>
  z.object({ tokenAddresses: z.array(hexSchema(20)).check(z.minLength(1, SIZE), z.maxLength(MAX_TOKENS, SIZE)) }))();

/** Parses the body of a request for many tokens. @throws OrderBookError `InvalidParameter`. */
export function parseTokenAddresses(body: unknown): readonly Address[] {
  const parsed = parseShape(tokenAddresses, body, 'InvalidParameter');
  if (parsed instanceof OrderBookError) throw parsed;
  return parsed.tokenAddresses;
}

/** Creates the token methods. @throws TypeError if the sources of holders are invalid. */
export function createTokenApi(tools: AccountTools, holders: readonly TokenHolderSource[]): TokenApi {
  const { books, tokens: lookup, clock, onFailure, observer, assertStarted } = tools;
  if (!Array.isArray(holders) || holders.some((source) => typeof source?.topHolders !== 'function')) {
    throw new TypeError('createAccounts: tokenHolders must be a list of sources');
  }
  const holderCache = createSourceCache<UsdPriceQuery, readonly TokenHolder[]>({
    sources: holders.map((source: TokenHolderSource) => ({
      name: source.name,
      read: (query, call) => source.topHolders(query, call),
      onFailure: (_, cause) => onFailure(cause),
    })),
    key: ({ chainId, token }) => `${chainId} ${token}`,
    ttl: HOLDERS_TTL,
    maxEntries: MAX_CACHED_HOLDERS,
    timeout: TIMEOUT,
    clock,
    subject: 'tokenHolders',
    reportsOutages: true,
    observer,
  });

  function requireBook(chainId: number): SourceBook {
    const book = getProductionBook(books, requireChainId(chainId));
    if (book === undefined) throw new AccountError(400, 'Unsupported chain');
    assertStarted();
    return book;
  }

  function measureTokens(book: SourceBook, tokens: readonly Address[]): Promise<TokenDetails[]> {
    const source = book.balances.available ? 'chain' : 'lookup';
    return observer.measure('tokenDetails', source, () => readTokens(book, tokens));
  }

  /** Reads the metadata of tokens: from the chain if the book has a client, otherwise from the lookup of the host. */
  async function readTokens(book: SourceBook, tokens: readonly Address[]): Promise<TokenDetails[]> {
    const addresses = tokens.filter((token) => token !== NATIVE_MARKER);
    const found = new Map<Address, TokenInfo>([[NATIVE_MARKER, getNativeCurrency(book.chainId)]]);
    if (book.balances.available) {
      for (const [token, info] of await book.balances.tokens(addresses)) found.set(token, info);
    } else {
      for (const token of addresses) {
        const label = await lookup(book.chainId, token);
        if (label === undefined) throw new AccountError(503, 'Token data is not available on this chain');
        found.set(token, label);
      }
    }
    return tokens.flatMap((address) => {
      const { decimals, symbol, name } = found.get(address) ?? {};
      if (!found.has(address)) return [];
      return [
        {
          address,
          ...(decimals !== undefined && { decimals }),
          ...(symbol !== undefined && { symbol }),
          ...(name !== undefined && { name }),
        },
      ];
    });
  }

  return {
    async get(chainId, token) {
      const address = requireToken(token);
      const [details] = await measureTokens(requireBook(chainId), [address]);
      return details;
    },
    async getMany(chainId, tokens) {
      const { length } = requireList('tokenAddresses', tokens);
      if (length === 0 || length > MAX_TOKENS) {
        throw new AccountError(400, `tokenAddresses: ${SIZE.error}`);
      }
      const addresses = tokens.map((token) => requireToken(token, 'tokenAddresses'));
      return measureTokens(requireBook(chainId), addresses);
    },
    async topHolders(chainId, token) {
      const query = { chainId: requireChainId(chainId), token: requireToken(token) };
      if (holders.length === 0) throw new AccountError(503, 'Token holders are not available on this server');
      assertStarted();
      return (await holderCache.get(query))?.value;
    },
  };
}
