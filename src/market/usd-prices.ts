import type { AccountTools } from '../account-tools/account-tools.ts';
import { type CachedSource, createSourceCache } from '../account-tools/source-cache.ts';
import type { UsdPriceQuery, UsdPriceSource } from '../ports/prices.ts';
import { assertKnownOptions } from '../validation/options.ts';
import { requireChainId, requireToken } from '../validation/parameters.ts';

/** Options of prices in US dollars. */
export interface UsdPricesOptions {
  /** Queried in order until one returns a price. */
  readonly sources: readonly UsdPriceSource[];
  /** Time for which a price is cached, in milliseconds. Default: 120000; 0: no cache. */
  readonly cacheTtl?: number;
  /** Maximum number of cached prices; the oldest are dropped first. Default: 10000. */
  readonly maxPrices?: number;
  /** Time limit per source, in milliseconds. Default: 5000. */
  readonly timeout?: number;
}

/** A price with its remaining cache time. */
export interface UsdPrice {
  /** US dollars for one whole token. */
  readonly price: number;
  /** Remaining time in the cache, in milliseconds. */
  readonly freshFor: number;
}

/** Price methods. */
export interface UsdPriceApi {
  /**
   * Returns the price of a token (`0xeeee…ee`: native currency), or `undefined` if no source has one. Rejects with
   * `InvalidParameter` for an invalid chain id or address; failures of sources do not reject.
   */
  get(chainId: number, token: string): Promise<UsdPrice | undefined>;
}

/** A price source that failed, timed out or returned an invalid price. */
export class UsdPriceError extends Error {
  override readonly name = 'UsdPriceError';
}

/**
 * Creates the price methods. Sources are queried in order. Prices are cached, missing prices are not. Concurrent
 * requests for the same price share one query.
 *
 * @param onPrice - Called with each price that a source returns.
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function createUsdPrices(
  options: UsdPricesOptions,
  { clock, onFailure, observer }: Pick<AccountTools, 'clock' | 'onFailure' | 'observer'>,
  onPrice?: (query: UsdPriceQuery, price: number) => void,
): UsdPriceApi {
  assertKnownOptions('createAccounts, usdPrices', options, ['sources', 'cacheTtl', 'maxPrices', 'timeout']);
  const { sources, cacheTtl: ttl = 120_000, maxPrices = 10_000, timeout = 5_000 } = options;
  requireNumber('cacheTtl', ttl, 0);
  requireNumber('maxPrices', maxPrices, 1);
  requireNumber('timeout', timeout, 1);
  if (!Array.isArray(sources) || sources.some((source) => typeof source?.usdPrice !== 'function')) {
    throw new TypeError('createAccounts: usdPrices.sources must be a list of sources');
  }
  const cache = createSourceCache({
    sources: sources.map((source) => toCachedSource(source, onFailure, onPrice)),
    key: ({ chainId, token }) => `${chainId} ${token}`,
    ttl,
    maxEntries: maxPrices,
    timeout,
    clock,
    subject: 'usdPrice',
    reportsOutages: true,
    observer,
  });

  return {
    async get(chainId, text) {
      const query = { chainId: requireChainId(chainId), token: requireToken(text) };
      const cached = await cache.get(query);
      return cached && { price: cached.value, freshFor: cached.freshFor };
    },
  };
}

/** Creates a source that reports failures and invalid prices. `onPrice` is called with each price. */
function toCachedSource(
  source: UsdPriceSource,
  onFailure: (failure: unknown) => void,
  onPrice: ((query: UsdPriceQuery, price: number) => void) | undefined,
): CachedSource<UsdPriceQuery, number> {
  return {
    name: source.name,
    async read(query, call) {
      const price = await source.usdPrice(query, call);
      if (price === undefined) return undefined;
      if (!Number.isFinite(price) || price <= 0) {
        throw new TypeError(`the price must be a positive number, got ${String(price)}`);
      }
      onPrice?.(query, price);
      return price;
    },
    onFailure: ({ chainId, token }, cause) =>
      onFailure(new UsdPriceError(`${source.name} failed for ${token} on chain ${chainId}`, { cause })),
  };
}

function requireNumber(name: string, value: number, min: number): void {
  if (Number.isFinite(value) && value >= min) return;
  throw new TypeError(`createAccounts: usdPrices.${name} must be a number of at least ${min}, got ${String(value)}`);
}
