import type { PriceHistorySource, PricePoint } from 'intentbook';
import { type CoinGeckoOptions, createCoinGeckoClient } from './coin-gecko-client.ts';

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
