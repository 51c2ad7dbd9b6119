import {
  assertKnownOptions,
  createHeaders,
  createServiceFetch,
  getEndpoint,
  parseServiceUrl,
  readJsonResponse,
} from '#internal';

/** Options of the CoinGecko sources. */
export interface CoinGeckoOptions {
  /** API key of the paid API, or of the free API with `plan: 'demo'`. Default: none, which uses the free API. */
  readonly apiKey?: string;
  /** API to which the key belongs. Default: `pro`. */
  readonly plan?: 'pro' | 'demo';
  /** Another base URL, such as a proxy. A user and a password in it are sent as a Basic `Authorization` header only. */
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

/** Maximum size of a response. A history of a day has about 30 kB. */
const MAX_BYTES = 65_536;

/** Creates the client. Redirects are not followed. @throws TypeError if an option is unknown or malformed. */
export function createCoinGeckoClient(name: string, options: CoinGeckoOptions) {
  assertKnownOptions(name, options, ['apiKey', 'plan', 'baseUrl', 'platforms', 'fetch']);
  const { apiKey, plan = 'pro' } = options;
  const send = createServiceFetch(options.fetch);
  if (plan !== 'pro' && plan !== 'demo') throw new TypeError(`${name}: plan must be "pro" or "demo"`);
  const baseUrl = options.baseUrl ?? (apiKey !== undefined && plan === 'pro' ? PRO : FREE);
  const service = parseServiceUrl(name, baseUrl, 'baseUrl');
  const platforms = { ...PLATFORMS, ...options.platforms };
  const key: Readonly<Record<string, string>> = apiKey === undefined ? {} : { [`x-cg-${plan}-api-key`]: apiKey };
  const headers = createHeaders(`${name}: apiKey`, { accept: 'application/json' }, service.authorization, key);

  return {
    /** Returns the platform name of a chain, `undefined` if there is none. */
    platform: (chainId: number): string | undefined => platforms[chainId],
    /** Returns the parsed response to a path. `undefined` for status 404. Rejects for another error. */
    async get(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<unknown> {
      const url = getEndpoint(service, `api/v3/${path}`);
      for (const [parameter, value] of Object.entries(query)) url.searchParams.set(parameter, value);
      return readJsonResponse(await send(url, { headers, signal }), 'CoinGecko', MAX_BYTES, [404]);
    },
  };
}
