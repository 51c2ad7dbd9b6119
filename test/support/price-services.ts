/**
 * Responses of public price services, written by hand in their documented shapes; the numbers are invented.
 *
 * - CoinGecko API v3: `simple/token_price/{id}` and `coins/{id}/contract/{address}/market_chart` of docs.coingecko.com,
 *   with its error codes 429, 10005 and 10012.
 * - DefiLlama coins API: `prices/current/{coins}` and `chart/{coins}` of github.com/DefiLlama/api-docs. `decimals` is
 *   optional, an unknown coin is missing, and times are in seconds.
 * - CoW Protocol order book API: `/api/v1/token/{token}/native_price` of its OpenAPI document.
 * - Coinbase data API v2: `prices/{pair}/spot` of docs.cdp.coinbase.com. Amounts are text.
 */

/** A response: status and body. Text is sent as it is. */
export type ServiceResponse = readonly [status: number, body: unknown];

export const UNI = '0x1f9840a85d5af5bf1d1762f925bdaddc4201f984';

const minutesAgo = (minutes: number) => Math.floor(Date.now() / 1000) - minutes * 60;

const coinGeckoError = (code: number, message: string) => ({ status: { error_code: code, error_message: message } });

/** Responses of `simple/token_price`, and the price that they contain. `undefined`: none; a text: the failure. */
export const COIN_GECKO_PRICES: readonly (readonly [string, ServiceResponse, number | string | undefined])[] = [
  ['a price', [200, { [UNI]: { usd: 7.31 } }], 7.31],
  ['a price with its time', [200, { [UNI]: { usd: 7.31, last_updated_at: minutesAgo(50) } }], 7.31],
  ['a price with a time to come', [200, { [UNI]: { usd: 7.31, last_updated_at: minutesAgo(-50) } }], 7.31],
  ['a price without its time', [200, { [UNI]: { usd: 7.31, last_updated_at: null } }], 7.31],
  ['a price of two hours ago', [200, { [UNI]: { usd: 7.31, last_updated_at: minutesAgo(120) } }], undefined],
  ['a time in milliseconds', [200, { [UNI]: { usd: 7.31, last_updated_at: Date.now() } }], 'not in seconds'],
  [
    'the last price of a token of last year',
    [200, { [UNI]: { usd: 7.31, last_updated_at: 1_700_000_000 } }],
    undefined,
  ],
  ['a price in exponent form', [200, `{"${UNI}":{"usd":1.2e-08}}`], 1.2e-8],
  ['an address with a checksum', [200, { '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984': { usd: 7 } }], 7],
  ['no listed token', [200, {}], undefined],
  ['a listed token without a price', [200, { [UNI]: {} }], undefined],
  ['a price of null', [200, { [UNI]: { usd: null } }], undefined],
  ['a price as text', [200, { [UNI]: { usd: '7.31' } }], 'a price that is not a number'],
  ['a negative price', [200, { [UNI]: { usd: -1 } }], 'must be a positive number, got -1'],
  ['a price beyond a double', [200, `{"${UNI}":{"usd":1e999}}`], 'must be a positive number, got Infinity'],
  ['a rate limit', [429, coinGeckoError(429, 'rate limit')], 'status 429'],
  ['a rate limit in a 200', [200, coinGeckoError(429, 'rate limit')], 'contains no prices'],
  ['a restriction of the plan', [401, { error_code: 10005, ...coinGeckoError(10005, 'plan') }], 'status 401'],
  ['too many addresses', [400, { error_code: 10012, status: { error_message: 'too many' } }], 'status 400'],
  ['a page of a firewall', [403, '<html>error code: 1020</html>'], 'status 403'],
  ['a page of a proxy in a 200', [200, '<html>one moment</html>'], 'JSON'],
];

/** Points of `market_chart`, one each five minutes. @param end - Time of the newest one, in milliseconds. */
export const coinGeckoChart = (end: number, prices: readonly (number | null)[]) => ({
  prices: prices.map((price, i) => [end - (prices.length - 1 - i) * 300_000, price]),
  market_caps: prices.map((_, i) => [end - (prices.length - 1 - i) * 300_000, null]),
  total_volumes: [],
});

const coin = (members: object) => ({
  coins: {
    [`ethereum:${UNI}`]: { decimals: 18, symbol: 'UNI', price: 7.31, timestamp: 1_700_000_000, ...members },
  },
});

/** Responses of `prices/current` of DefiLlama. */
export const DEFI_LLAMA_PRICES: typeof COIN_GECKO_PRICES = [
  ['a price', [200, coin({ confidence: 0.99 })], 7.31],
  ['a price without decimals', [200, coin({ decimals: undefined })], 7.31],
  ['a price in exponent form', [200, JSON.stringify(coin({ price: 0 })).replace(':0,', ':7.31e-7,')], 7.31e-7],
  ['no known coin', [200, { coins: {} }], undefined],
  ['a price of null', [200, coin({ price: null })], 'must be a positive number, got null'],
  ['a price of 0', [200, coin({ price: 0 })], 'must be a positive number, got 0'],
  ['a price as text', [200, coin({ price: '7.31' })], 'must be a positive number, got 7.31'],
  ['an error in a 200', [200, { message: 'Internal server error' }], 'reading'],
  ['an outage', [502, '<html>Bad gateway</html>'], 'status 502'],
];

/** Responses of `native_price` of CoW Protocol. The price is in atoms of native currency for one atom. */
export const COW_NATIVE_PRICES: typeof COIN_GECKO_PRICES = [
  ['a price', [200, { price: 0.0025 }], 0.0025],
  ['a price in exponent form', [200, '{"price":2.5E-15}'], 2.5e-15],
  ['a price below the precision of a book', [200, '{"price":2.5E-21}'], undefined],
  ['a price of a token with few decimals', [200, { price: 288_778_763.042292 }], 288_778_763.042292],
  ['no liquidity', [404, { errorType: 'NoLiquidity', description: 'no route found' }], undefined],
  ['an unsupported token', [400, { errorType: 'UnsupportedToken', description: 'a denied token' }], undefined],
  ['a price of null', [200, { price: null }], 'no source has a price'],
  ['a price as text', [200, { price: '0.0025' }], 'no source has a price'],
  ['a price of 0', [200, { price: 0 }], undefined],
  ['a rate limit', [429, 'Too Many Requests'], 'no source has a price'],
  ['an outage', [503, { errorType: 'InternalServerError', description: '' }], 'no source has a price'],
  ['a page of a proxy in a 200', [200, '<html>one moment</html>'], 'no source has a price'],
];

/** Responses of `prices/UNI-USD/spot` of Coinbase. */
export const COINBASE_PRICES: typeof COIN_GECKO_PRICES = [
  ['an amount', [200, { data: { amount: '7.315', base: 'UNI', currency: 'USD' } }], 7.315],
  ['an amount with separators', [200, { data: { amount: '1,020.25' } }], 'must be a positive number, got NaN'],
  ['an empty amount', [200, { data: { amount: '' } }], 'must be a positive number, got 0'],
  ['an unknown pair', [404, { errors: [{ id: 'not_found', message: 'Invalid base currency' }] }], undefined],
  ['a rate limit', [429, { errors: [{ id: 'rate_limit_exceeded', message: '' }] }], 'status 429'],
  ['an error in a 200', [200, { errors: [{ id: 'internal_server_error' }] }], 'reading'],
];
