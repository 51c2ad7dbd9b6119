import type { UsdPriceSource } from 'intentbook';
import { assertKnownOptions, CHAINS, NATIVE_MARKER, readResponseText } from '#internal';

/** How prices are asked for. */
export interface CoinGeckoOptions {
  /** A key of the paid interface, or of the free one with `plan: 'demo'`. Default: none, and the free interface. */
  readonly apiKey?: string;
  /** Which interface the key is for. Default `pro`. */
  readonly plan?: 'pro' | 'demo';
  /** Another place to ask, such as a proxy of one's own. */
  readonly baseUrl?: string;
  /** Names of platforms by chain id, besides the known ones. */
  readonly platforms?: Readonly<Record<number, string>>;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
}

const PRO = 'https://pro-api.coingecko.com';
const FREE = 'https://api.coingecko.com';

/** What CoinGecko calls the chains of the protocol. Sepolia is not among them: its tokens are worth nothing. */
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
 * Prices of CoinGecko, by contract address. Native currency is asked for as its wrapped token, whose name needs no table.
 * A chain without a platform, and a token that CoinGecko does not list, have no price; any answer but 200 and 404 is a
 * failure. Redirects are not followed.
 *
 * @throws TypeError when an option is unknown or `baseUrl` is no http or https URL.
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
        throw new Error(`CoinGecko has answered with status ${response.status}`);
      }
      return priceOf(JSON.parse(await readResponseText(response, MAX_BYTES)), contract);
    },
  };
}

/** Reads `{ "0x…": { "usd": 1.5 } }`. A token that is not in it has no price, and a price of 0 is none. */
function priceOf(answer: unknown, contract: string): number | undefined {
  if (typeof answer !== 'object' || answer === null) throw new Error('CoinGecko has answered without prices');
  const entry = Object.entries(answer).find(([name]) => name.toLowerCase() === contract)?.[1] as unknown;
  if (entry === undefined) return undefined;
  const price = typeof entry === 'object' && entry !== null && 'usd' in entry ? entry.usd : undefined;
  if (price === undefined || price === null || price === 0) return undefined;
  if (typeof price === 'number') return price;
  throw new Error('CoinGecko has answered with a price that is no number');
}
