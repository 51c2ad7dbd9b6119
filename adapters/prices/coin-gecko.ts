import type { UsdPriceSource } from 'intentbook';
import { assertKnownOptions, CHAINS, NATIVE_MARKER, readResponseText } from '#internal';

/** Options of the CoinGecko price source. */
export interface CoinGeckoOptions {
  /** API key of the paid API, or of the free API with `plan: 'demo'`. Default: none, which uses the free API. */
  readonly apiKey?: string;
  /** API to which the key belongs. Default: `pro`. */
  readonly plan?: 'pro' | 'demo';
  /** Another base URL, such as a proxy. */
  readonly baseUrl?: string;
  /** Additional platform names by chain id. */
  readonly platforms?: Readonly<Record<number, string>>;
  /** Implementation of `fetch`. Default: the global one. */
  readonly fetch?: typeof fetch;
}

const PRO = 'https://pro-api.coingecko.com';
const FREE = 'https://api.coingecko.com';

/** CoinGecko's platform names of the protocol's chains. Sepolia is missing: its tokens have no value. */
const PLATFORMS: Readonly<Record<number, string>> = {
  1: 'ethereum',
  56: 'binance-smart-chain',
  100: 'xdai',
  137: 'polygon-pos',
  8453: 'base',
  9745: 'plasma',
  42161: 'arbitrum-one',
  43114: 'avalanche',
  57073: 'ink',
  59144: 'linea',
};

const MAX_BYTES = 65_536;

/**
 * Creates a price source that reads prices by contract address from CoinGecko. Native currency is read as its wrapped
 * token. A chain without a platform and an unlisted token have no price. Any response status besides 200 and 404 is a
 * failure. Redirects are not followed.
 *
 * @throws TypeError if an option is unknown or `baseUrl` is not an http or https URL.
 */
export function coinGecko(options: CoinGeckoOptions = {}): UsdPriceSource {
  assertKnownOptions('coinGecko', options, ['apiKey', 'plan', 'baseUrl', 'platforms', 'fetch']);
  const { apiKey, plan = 'pro', fetch: send = fetch } = options;
  if (plan !== 'pro' && plan !== 'demo') throw new TypeError('coinGecko: plan must be "pro" or "demo"');
  const baseUrl = options.baseUrl ?? (apiKey !== undefined && plan === 'pro' ? PRO : FREE);
  if (!/^https?:\/\/[^/]/.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new TypeError('coinGecko: baseUrl must be an http or https URL');
  }
  const platforms = { ...PLATFORMS, ...options.platforms };
  const headers = { accept: 'application/json', ...(apiKey !== undefined && { [`x-cg-${plan}-api-key`]: apiKey }) };

  return {
    name: 'CoinGecko',
    async usdPrice({ chainId, token }, { signal }) {
      const platform = platforms[chainId];
      const contract =
        token === NATIVE_MARKER ? CHAINS.find((chain) => chain.chainId === chainId)?.wrappedNative : token;
      if (platform === undefined || contract === undefined) return undefined;
      const query = new URLSearchParams({ contract_addresses: contract, vs_currencies: 'usd' });
      const url = `${baseUrl.replace(/\/+$/, '')}/api/v3/simple/token_price/${encodeURIComponent(platform)}?${query}`;
      const response = await send(url, { headers, redirect: 'error', signal });
      if (response.status !== 200) {
        await response.body?.cancel();
        if (response.status === 404) return undefined;
        throw new Error(`CoinGecko responded with status ${response.status}`);
      }
      return parsePrice(JSON.parse(await readResponseText(response, MAX_BYTES)), contract);
    },
  };
}

/** Parses `{ "0x…": { "usd": 1.5 } }`. A missing token and a price of 0 result in undefined. */
function parsePrice(body: unknown, contract: string): number | undefined {
  if (typeof body !== 'object' || body === null) throw new Error('the response of CoinGecko contains no prices');
  const entry = Object.entries(body).find(([name]) => name.toLowerCase() === contract)?.[1] as unknown;
  if (entry === undefined) return undefined;
  const price = typeof entry === 'object' && entry !== null && 'usd' in entry ? entry.usd : undefined;
  if (price === undefined || price === null || price === 0) return undefined;
  if (typeof price === 'number') return price;
  throw new Error('the response of CoinGecko contains a price that is not a number');
}
