import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UsdPriceQuery } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { fixedPrices } from 'intentbook/estimators';
import { memoryStore } from 'intentbook/memory';
import { coinGecko, coinGeckoHistory, fixedUsdPrices, nativePriceSource } from 'intentbook/prices';
import { afterEach, describe, expect, test } from 'vitest';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';

const call = () => ({ signal: new AbortController().signal });
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const TOKEN = '0x00000000000000000000000000000000000000aa';
const on1 = (token: string): UsdPriceQuery => ({ chainId: 1, token: token as `0x${string}` });

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const QUERY = 'vs_currencies=usd&include_last_updated_at=true';

describe('CoinGecko price source', () => {
  /** A test double of the price API over a real socket. */
  async function double(answer: (request: IncomingMessage, response: ServerResponse) => void) {
    const requests: { url: string; key: string | undefined }[] = [];
    const server = createServer((request, response) => {
      const { headers, url = '' } = request;
      requests.push({ url, key: [headers['x-cg-pro-api-key'], headers['x-cg-demo-api-key']].filter(Boolean).join() });
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo; // a listening server has an address
    return { requests, baseUrl: `http://127.0.0.1:${port}` };
  }
  const respondWith = (status: number, body: unknown) => (_: IncomingMessage, response: ServerResponse) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body));

  test('requests a token on its platform with the key in a header', async () => {
    const { requests, baseUrl } = await double(respondWith(200, { [TOKEN]: { usd: 1.25 } }));
    expect(await coinGecko({ baseUrl, apiKey: 'secret' }).usdPrice(on1(TOKEN), call())).toBe(1.25);
    expect(
      await coinGecko({ baseUrl, apiKey: 'other', plan: 'demo' }).usdPrice({ ...on1(TOKEN), chainId: 100 }, call()),
    ).toBe(1.25);
    expect(requests).toEqual([
      { url: `/api/v3/simple/token_price/ethereum?contract_addresses=${TOKEN}&${QUERY}`, key: 'secret' },
      { url: `/api/v3/simple/token_price/xdai?contract_addresses=${TOKEN}&${QUERY}`, key: 'other' },
    ]);
  });

  test('requests the history of the last day', async () => {
    const { requests, baseUrl } = await double(respondWith(200, { prices: [[1_700_000_000_000, 1.5]], volumes: [] }));
    const source = coinGeckoHistory({ baseUrl, apiKey: 'secret' });
    expect(await source.priceHistory(on1(TOKEN), call())).toEqual([{ at: 1_700_000_000_000, price: 1.5 }]);
    expect(await source.priceHistory({ ...on1(TOKEN), chainId: SEPOLIA }, call())).toBeUndefined();
    const url = `/api/v3/coins/ethereum/contract/${TOKEN}/market_chart?vs_currency=usd&days=1`;
    expect(requests).toEqual([{ url, key: 'secret' }]);
  });

  test.each([
    [404, {}, undefined],
    [429, {}, 'CoinGecko responded with status 429'],
    [200, {}, 'the response of CoinGecko contains no prices'],
    [200, { prices: [[1, '2']] }, 'the response of CoinGecko contains no price that is a positive number'],
  ])('returns no history or rejects for status %i with %j', async (status, body, message) => {
    const { baseUrl } = await double(respondWith(status, body));
    const history = Promise.resolve(coinGeckoHistory({ baseUrl }).priceHistory(on1(TOKEN), call()));
    if (message === undefined) expect(await history).toBeUndefined();
    else await expect(history).rejects.toThrow(message);
  });

  test('requests native currency as its wrapped token', async () => {
    const weth = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
    const { requests, baseUrl } = await double(respondWith(200, { [weth]: { usd: 3500 } }));
    expect(await coinGecko({ baseUrl }).usdPrice(on1(NATIVE), call())).toBe(3500);
    expect(requests[0]?.url).toContain(weth.toLowerCase());
  });

  test('does not request an unknown chain unless its name is configured', async () => {
    const { requests, baseUrl } = await double(respondWith(200, { [TOKEN]: { usd: 2 } }));
    const elsewhere = { ...on1(TOKEN), chainId: SEPOLIA };
    expect(await coinGecko({ baseUrl }).usdPrice(elsewhere, call())).toBe(undefined);
    expect(requests).toEqual([]);
    expect(await coinGecko({ baseUrl, platforms: { [SEPOLIA]: 'a/b' } }).usdPrice(elsewhere, call())).toBe(2);
    expect(requests[0]?.url).toContain('/a%2Fb?');
  });

  test.each([
    ['{}', 200, {}],
    ['a token without a price', 200, { [TOKEN]: {} }],
    ['a price of 0', 200, { [TOKEN]: { usd: 0 } }],
    ['a price of null', 200, { [TOKEN]: { usd: null } }],
    ['404', 404, { error: 'coin not found' }],
  ])('returns no price for %s', async (_, status, body) => {
    const { baseUrl } = await double(respondWith(status, body));
    expect(await coinGecko({ baseUrl }).usdPrice(on1(TOKEN), call())).toBe(undefined);
  });

  test.each([
    ['429', 429, { status: { error_code: 429 } }, 'status 429'],
    ['500', 500, 'oops', 'status 500'],
    ['text', 200, 'oops', 'JSON'],
    ['null', 200, 'null', 'contains no prices'],
    ['a list', 200, [], 'contains no prices'],
    ['an error inside a 200', 200, { status: { error_code: 429, error_message: 'limit' } }, 'contains no prices'],
    ['an error without a status', 200, { error: 'coin not found' }, 'contains no prices'],
    ['a price that is text', 200, { [TOKEN]: { usd: '1' } }, 'that is not a number'],
    ['an oversized response', 200, `"${'x'.repeat(100_000)}"`, 'at most 65536 bytes'],
  ])('reports %s as a failure, not as a missing price', async (_, status, body, message) => {
    const { baseUrl } = await double(respondWith(status, body));
    await expect(coinGecko({ baseUrl }).usdPrice(on1(TOKEN), call())).rejects.toThrow(message);
  });

  test('does not follow redirects', async () => {
    const { requests, baseUrl } = await double((_, response) => void response.writeHead(302, { location: '/x' }).end());
    await expect(coinGecko({ baseUrl }).usdPrice(on1(TOKEN), call())).rejects.toThrow();
    expect(requests.length).toBe(1);
  });

  test('aborts a pending request with its signal', async () => {
    const { baseUrl } = await double(() => {});
    const leaving = new AbortController();
    const price = coinGecko({ baseUrl }).usdPrice(on1(TOKEN), { signal: leaving.signal });
    leaving.abort();
    await expect(price).rejects.toThrow('aborted');
  });

  test.each([
    [{ key: 'x' }, 'unknown option "key"'],
    [{ plan: 'paid' }, 'plan must be'],
    [{ baseUrl: 'ftp://x' }, 'baseUrl must be'],
  ])('rejects the options %j', (options, message) => expect(() => coinGecko(options as never)).toThrow(message));
});

describe('native price source', () => {
  /** A test double of a book that returns token prices. */
  const pricing = (prices: Record<string, string>, chainId = 1) => ({
    chainId,
    quotes: {
      nativePrice: async (token: string) => {
        const price = token === NATIVE ? '1' : prices[token];
        return price === undefined
          ? { status: 'rejected', error: new Error('NoLiquidity') }
          : { status: 'priced', price };
      },
    } as never, // the test uses nothing else
    balances: { token: async () => ({ decimals: 2 }) } as never,
  });
  const USDC = '0x00000000000000000000000000000000000000dd';
  const known: Readonly<Record<string, number>> = { [TOKEN]: 18, [USDC]: 6 };
  const decimals = async ({ token }: UsdPriceQuery) => known[token];

  // The vector is from production: 1 and 288778763.042292 native atoms per atom, with 18 and 6 decimals.
  test('derives prices from a token worth one dollar', async () => {
    const books = [pricing({ [TOKEN]: '1', [USDC]: '288778763.042292' })];
    const source = nativePriceSource({ books, decimals, nativeUsd: { 1: { token: USDC, decimals: 6 } } });
    expect(await source.usdPrice(on1(TOKEN), call())).toBeCloseTo(3462.8585200136367, 9);
    expect(await source.usdPrice(on1(NATIVE), call())).toBeCloseTo(3462.8585200136367, 9);
    expect(await source.usdPrice(on1(USDC), call())).toBeCloseTo(1, 12);
  });

  test('derives prices from a source of the native price', async () => {
    const nativeUsd = fixedUsdPrices({ 1: { [NATIVE]: 2000 } });
    const source = nativePriceSource({
      books: [pricing({ [TOKEN]: '0.0005', [USDC]: '500000000' })],
      decimals,
      nativeUsd,
    });
    expect(await source.usdPrice(on1(TOKEN), call())).toBe(1);
    expect(await source.usdPrice(on1(USDC), call())).toBe(1);
    expect(await source.usdPrice(on1(NATIVE), call())).toBe(2000);
  });

  test('returns no price without decimals, native price or known chain', async () => {
    const nativeUsd = fixedUsdPrices({ 1: { [NATIVE]: 2000 } });
    const source = nativePriceSource({ books: [pricing({ [TOKEN]: '1', [WETH]: '1' })], decimals, nativeUsd });
    expect(await source.usdPrice(on1(WETH), call())).toBe(undefined);
    expect(await source.usdPrice(on1(USDC), call())).toBe(undefined);
    expect(await source.usdPrice({ ...on1(TOKEN), chainId: 100 }, call())).toBe(undefined);
    const poor = nativePriceSource({ books: [pricing({ [TOKEN]: '1' })], decimals, nativeUsd: {} });
    expect(await poor.usdPrice(on1(TOKEN), call())).toBe(undefined);
  });

  test('queries the first book of a chain and never guesses decimals', async () => {
    const books = [pricing({ [TOKEN]: '1' }), pricing({ [TOKEN]: '5' }), pricing({ [TOKEN]: '7' }, 100)];
    const nativeUsd = fixedUsdPrices({ 1: { [NATIVE]: 1 }, 100: { [NATIVE]: 1 } });
    const source = nativePriceSource({ books, decimals: () => 0, nativeUsd });
    expect(await source.usdPrice(on1(TOKEN), call())).toBe(1e-18);
    expect(await source.usdPrice({ ...on1(TOKEN), chainId: 100 }, call())).toBe(7e-18);
  });

  test('uses the decimals of the book by default', async () => {
    const nativeUsd = fixedUsdPrices({ 1: { [NATIVE]: 1 } });
    const source = nativePriceSource({ books: [pricing({ [TOKEN]: '1' })], nativeUsd });
    expect(await source.usdPrice(on1(TOKEN), call())).toBe(1e-16);
  });

  test('derives prices from the quotes of a real book', async () => {
    const prices = { [WETH]: '1', [COW]: { price: '0.0001', decimals: 18 } };
    const quotes = { estimators: [fixedPrices(prices)], gasPrice: 1 };
    const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), quotes });
    await book.start();
    closing.push(() => book.close());
    const nativeUsd = fixedUsdPrices({ [SEPOLIA]: { [NATIVE]: 2500 } });
    const source = nativePriceSource({ books: [book], decimals: () => 18, nativeUsd });
    const token = COW.toLowerCase() as `0x${string}`;
    expect(await source.usdPrice({ chainId: SEPOLIA, token }, call())).toBe(0.25);
    await book.close();
    await expect(source.usdPrice({ chainId: SEPOLIA, token }, call())).rejects.toThrow('the book is closed');
  });

  test.each([
    [{ 1: { token: 'x', decimals: 6 } }, 'a token must be 0x and 40 hex digits, got "x"'],
    [{ 1: { token: TOKEN, decimals: 78 } }, 'decimals of 0x'],
  ])('rejects the options %j', (nativeUsd, message) => {
    expect(() => nativePriceSource({ books: [], decimals, nativeUsd })).toThrow(message);
  });
});

describe('fixed price source', () => {
  test('returns prices by chain and token in either case', async () => {
    const source = fixedUsdPrices({ 1: { [WETH]: 3000 } });
    expect(source.usdPrice(on1(WETH.toLowerCase()), call())).toBe(3000);
    expect(source.usdPrice({ ...on1(WETH.toLowerCase()), chainId: 100 }, call())).toBe(undefined);
  });

  test.each([
    [{ 1: { [`0x${'ab'.repeat(20)}`]: 1, [`0x${'AB'.repeat(20)}`]: 2 } }, 'occurs twice on chain 1'],
    [{ 1: { x: 1 } }, 'a token must be 0x and 40 hex digits, got "x"'],
    [{ 1: { [WETH]: 0 } }, 'must be a number above 0'],
    [{ 1: { [WETH]: '1' } }, 'must be a number above 0'],
    [{ mainnet: { [WETH]: 1 } }, '"mainnet" is not a valid chain id'],
  ])('rejects the table %j', (table, message) => expect(() => fixedUsdPrices(table as never)).toThrow(message));
});
