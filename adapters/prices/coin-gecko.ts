import type { PriceHistorySource, PricePoint, UsdPriceSource } from 'intentbook';
import { CHAINS, NATIVE_MARKER } from '#internal';
import { type CoinGeckoOptions, createCoinGeckoClient } from './coin-gecko-client.ts';

/**
 * Creates a price source that reads prices by contract address from CoinGecko. Native currency is read as its wrapped
 * token. A chain without a platform, an unlisted token and one whose price is older than an hour have no price. Any
 * response status besides 200 and 404 is a failure. Redirects are not followed.
 *
 * @throws TypeError if an option is unknown or `baseUrl` is not an http or https URL.
 */
export function coinGecko(options: CoinGeckoOptions = {}): UsdPriceSource {
  const client = createCoinGeckoClient('coinGecko', options);

  return {
    name: 'CoinGecko',
    async usdPrice({ chainId, token }, { signal }) {
      const platform = client.platform(chainId);
      const contract =
        token === NATIVE_MARKER ? CHAINS.find((chain) => chain.chainId === chainId)?.wrappedNative : token;
      if (platform === undefined || contract === undefined) return undefined;
      const query = { contract_addresses: contract, vs_currencies: 'usd', include_last_updated_at: 'true' };
      const body = await client.get(`simple/token_price/${encodeURIComponent(platform)}`, query, signal);
      return body === undefined ? undefined : parsePrice(body, contract);
    },
  };
}

/** Age from which a price is not used, in milliseconds. A token that is not traded any more keeps its last one. */
const MAX_AGE = 3_600_000;

/**
 * Parses `{ "0x…": { "usd": 1.5, "last_updated_at": 1700000000 } }`. A missing token, an old price and a price of 0
 * result in undefined.
 */
function parsePrice(body: unknown, contract: string): number | undefined {
  // An object with other names is an error with status 200.
  const isTable = typeof body === 'object' && body !== null && !Array.isArray(body);
  if (!isTable || !Object.keys(body).every((name) => name.startsWith('0x'))) {
    throw new Error('the response of CoinGecko contains no prices');
  }
  const entry = Object.entries(body).find(([name]) => name.toLowerCase() === contract)?.[1] as unknown;
  if (entry === undefined) return undefined;
  const { usd: price, last_updated_at: at } = Object(entry) as Readonly<Record<string, unknown>>;
  const age = typeof at === 'number' ? Date.now() - at * 1000 : 0;
  if (age < -MAX_AGE) throw new Error('the response of CoinGecko contains a time that is not in seconds');
  if (age > MAX_AGE) return undefined;
  if (price === undefined || price === null || price === 0) return undefined;
  if (typeof price === 'number') return price;
  throw new Error('the response of CoinGecko contains a price that is not a number');
}

/**
 * Creates a source of past prices that reads the last day of a token from CoinGecko, a price each 5 minutes. A chain
 * without a platform and an unlisted token have no history. Any response status besides 200 and 404 is a failure.
 *
 * @throws TypeError if an option is unknown or `baseUrl` is not an http or https URL.
 */
export function coinGeckoHistory(options: CoinGeckoOptions = {}): PriceHistorySource {
  const client = createCoinGeckoClient('coinGeckoHistory', options);

  return {
    name: 'CoinGecko',
    async priceHistory({ chainId, token }, { signal }) {
      const platform = client.platform(chainId);
      if (platform === undefined) return undefined;
      const path = `coins/${encodeURIComponent(platform)}/contract/${token}/market_chart`;
      const body = await client.get(path, { vs_currency: 'usd', days: '1' }, signal);
      return body === undefined ? undefined : parseHistory(body);
    },
  };
}

/** Parses `{ "prices": [[1700000000000, 1.5], …] }`. Points without a price are left out. */
function parseHistory(body: unknown): PricePoint[] {
  const prices = typeof body === 'object' && body !== null && 'prices' in body ? body.prices : undefined;
  if (!Array.isArray(prices)) throw new Error('the response of CoinGecko contains no prices');
  const points = prices.flatMap((point: unknown) => {
    const [at, price] = Array.isArray(point) ? (point as unknown[]) : [];
    return typeof at === 'number' && typeof price === 'number' && price > 0 ? [{ at, price }] : [];
  });
  if (points.length > 0 || prices.length === 0) return points;
  throw new Error('the response of CoinGecko contains no price that is a positive number');
}
