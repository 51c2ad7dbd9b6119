import { withDeadline } from '../concurrency/deadline.ts';
import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { UsdPriceQuery, UsdPriceSource } from '../ports/prices.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import { assertKnownOptions } from '../validation/options.ts';

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

interface CacheEntry {
  readonly price: number;
  readonly at: number;
}

/**
 * Creates the price methods. Sources are queried in order. Prices are cached, missing prices are not. Concurrent
 * requests for the same price share one query.
 *
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function createUsdPrices(
  options: UsdPricesOptions,
  { clock, onFailure }: { readonly clock: Clock; readonly onFailure: (failure: unknown) => void },
): UsdPriceApi {
  assertKnownOptions('createAccounts, usdPrices', options, ['sources', 'cacheTtl', 'maxPrices', 'timeout']);
  const { sources, cacheTtl: lifetime = 120_000, maxPrices = 10_000, timeout = 5_000 } = options;
  requireNumber('cacheTtl', lifetime, 0);
  requireNumber('maxPrices', maxPrices, 1);
  requireNumber('timeout', timeout, 1);
  if (!Array.isArray(sources) || sources.some((source) => typeof source?.usdPrice !== 'function')) {
    throw new TypeError('createAccounts: usdPrices.sources must be a list of sources');
  }
  const cache = new Map<string, CacheEntry>();
  const pendingQueries = new Map<string, Promise<UsdPrice | undefined>>();

  async function querySources(query: UsdPriceQuery, key: string): Promise<UsdPrice | undefined> {
    for (const source of sources) {
      const price = await querySource(source, query);
      if (price === undefined) continue;
      writeCache(key, price);
      return { price, freshFor: lifetime };
    }
    return undefined;
  }

  async function querySource(source: UsdPriceSource, query: UsdPriceQuery): Promise<number | undefined> {
    try {
      const price = await withDeadline(clock, timeout, (signal) => source.usdPrice(query, { signal }));
      if (price === undefined || (Number.isFinite(price) && price > 0)) return price;
      throw new TypeError(`the price must be a positive number, got ${String(price)}`);
    } catch (cause) {
      onFailure(new UsdPriceError(`${source.name} failed for ${query.token} on chain ${query.chainId}`, { cause }));
      return undefined;
    }
  }

  function writeCache(key: string, price: number): void {
    if (lifetime === 0) return;
    cache.delete(key);
    cache.set(key, { price, at: clock.now() });
    const [oldest] = cache.keys();
    if (cache.size > maxPrices && oldest !== undefined) cache.delete(oldest);
  }

  function readCache(key: string): UsdPrice | undefined {
    const cached = cache.get(key);
    if (cached === undefined) return undefined;
    const age = clock.now() - cached.at;
    // The age is negative if the clock was set back.
    return age >= 0 && age < lifetime ? { price: cached.price, freshFor: lifetime - age } : undefined;
  }

  return {
    async get(chainId, text) {
      const query = { chainId: requireChainId(chainId), token: requireToken(text) };
      const key = `${query.chainId} ${query.token}`;
      const cached = readCache(key);
      if (cached !== undefined) return cached;
      let pending = pendingQueries.get(key);
      if (pending === undefined) {
        pending = querySources(query, key).finally(() => pendingQueries.delete(key));
        pendingQueries.set(key, pending);
      }
      return pending;
    },
  };
}

function requireChainId(chainId: number): number {
  if (Number.isSafeInteger(chainId) && chainId > 0) return chainId;
  throw new OrderBookError('InvalidParameter', 'chainId: must be a positive integer', { parameter: 'chainId' });
}

function requireToken(text: string): Address {
  const token = parseHex(text, 20);
  if (token !== undefined) return token;
  throw new OrderBookError('InvalidParameter', 'token: must be 0x and 40 hex digits', { parameter: 'token' });
}

function requireNumber(name: string, value: number, min: number): void {
  if (Number.isFinite(value) && value >= min) return;
  throw new TypeError(`createAccounts: usdPrices.${name} must be a number of at least ${min}, got ${String(value)}`);
}
