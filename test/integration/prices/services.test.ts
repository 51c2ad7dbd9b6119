import type { PriceHistorySource, PricePoint, UsdPriceSource } from 'intentbook';
import { coinGecko, coinGeckoHistory, fixedUsdPrices, nativePriceSource } from 'intentbook/prices';
import { orderBookQuotes } from 'intentbook/upstream';
import { describe, expect, test } from 'vitest';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';
import type { ServiceResponse } from '../../support/price-services.ts';
import {
  COIN_GECKO_PRICES,
  COINBASE_PRICES,
  COW_NATIVE_PRICES,
  coinGeckoChart,
  DEFI_LLAMA_PRICES,
  UNI,
} from '../../support/price-services.ts';
import { accountFixture } from '../../unit/accounts/account-api-fixture.ts';
import { turns } from '../../unit/accounts/accounts-fixture.ts';
import { statisticsFixture, TRADER_ADDRESS } from '../../unit/accounts/statistics-fixture.ts';

const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const ETHER = 2000;

/** Returns a fetch function of a service that always sends one response. */
const respond =
  ([status, body]: ServiceResponse): typeof fetch =>
  async () =>
    new Response(typeof body === 'string' ? body : JSON.stringify(body), { status });

/** Reads JSON as an application does that trusts a service. */
async function readJson(send: typeof fetch, url: string): Promise<Readonly<Record<string, never>> | undefined> {
  const response = await send(url);
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return (await response.json()) as Readonly<Record<string, never>>; // not checked, as an application may do
}

type LlamaCoins = Readonly<Record<string, { readonly price: number } | undefined>>;

/** The source that an application writes for DefiLlama. */
const defiLlama = (send: typeof fetch): UsdPriceSource => ({
  name: 'DefiLlama',
  async usdPrice({ token }) {
    const { coins } = (await readJson(send, `https://x.example/prices/current/ethereum:${token}`)) ?? {};
    return (coins as unknown as LlamaCoins)[`ethereum:${token}`]?.price;
  },
});

/** The source that an application writes for Coinbase. */
const coinbase = (send: typeof fetch): UsdPriceSource => ({
  name: 'Coinbase',
  async usdPrice() {
    const body = await readJson(send, 'https://x.example/prices/UNI-USD/spot');
    return body === undefined ? undefined : Number((body['data'] as unknown as { readonly amount: string }).amount);
  },
});

/** Returns the failures of sources with their causes. */
const describeFailures = (failures: readonly unknown[]) =>
  failures.map((failure) => `${String(failure)} ${String((failure as Error).cause)}`);

async function readPrice(sources: readonly UsdPriceSource[]) {
  const { send, failures } = await accountFixture({ usdPrices: { sources } });
  const { status, json } = await send('GET', `/1/tokens/${UNI}/usdPrice`);
  return { answer: [status, json()], failures: describeFailures(failures) };
}

async function expectPrice(source: UsdPriceSource, expected: number | string | undefined): Promise<void> {
  const alone = await readPrice([source]);
  const { answer } = await readPrice([source, fixedUsdPrices({ 1: { [UNI]: 5 } })]);
  if (typeof expected === 'number') {
    expect([alone.answer, answer]).toEqual([
      [200, { price: expected }],
      [200, { price: expected }],
    ]);
    return expect(alone.failures).toEqual([]);
  }
  expect(answer).toEqual([200, { price: 5 }]);
  if (expected === undefined) {
    expect(alone).toEqual({ answer: [404, { message: 'Price not found' }], failures: [] });
  } else {
    expect(alone.answer).toEqual([503, { message: 'The sources of this data have failed' }]);
    expect(alone.failures).toEqual([expect.stringContaining(expected)]);
  }
}

/** Returns the activity of a trade of 100 UNI with a code, whose price the source reads. It waits for a price. */
async function readReferredTrade(source: UsdPriceSource) {
  const uni: UsdPriceSource = {
    name: source.name,
    usdPrice: ({ token }, call) =>
      token === WETH.toLowerCase() ? source.usdPrice({ chainId: 1, token: UNI }, call) : undefined,
  };
  const fixture = await statisticsFixture({}, [uni]);
  await fixture.register();
  await fixture.trade(100);
  await turns(async () => {
    fixture.clock.advance(30_000);
    return (await fixture.get('trader-activity', TRADER_ADDRESS)) !== 503 && (await fixture.activity()).length === 1;
  });
  const [row] = await fixture.activity();
  return { row, failures: describeFailures(fixture.failures) };
}

describe('values of referred trades', () => {
  const rows = [
    ...COIN_GECKO_PRICES.map((row) => ['CoinGecko', ...row] as const),
    ...DEFI_LLAMA_PRICES.map((row) => ['DefiLlama', ...row] as const),
    ...COINBASE_PRICES.map((row) => ['Coinbase', ...row] as const),
  ];
  const create = {
    CoinGecko: (send: typeof fetch) => coinGecko({ fetch: send }),
    DefiLlama: defiLlama,
    Coinbase: coinbase,
  };

  test.each(rows)('are exact or unknown with %s: %s', async (service, _, response, expected) => {
    const { row, failures } = await readReferredTrade(create[service](respond(response)));
    // In millionths of a dollar, rounded half up.
    const value = typeof expected === 'number' ? Math.round(expected * 1e8) / 1e6 : null;
    const reason = value === null ? 'price_unknown' : 'eligible';
    expect(row).toMatchObject({ usd_value: value, eligibility_reason: reason });
    expect([failures.length > 0, failures[0] ?? '']).toEqual([
      typeof expected === 'string',
      expect.stringContaining(typeof expected === 'string' ? expected : ''),
    ]);
  });
});

describe('prices of CoinGecko', () => {
  test.each(COIN_GECKO_PRICES)('are exact, missing or a failure: %s', async (_, response, expected) => {
    await expectPrice(coinGecko({ fetch: respond(response) }), expected);
  });
});

describe('prices of a source for DefiLlama', () => {
  test.each(DEFI_LLAMA_PRICES)('are exact, missing or a failure: %s', async (_, response, expected) => {
    await expectPrice(defiLlama(respond(response)), expected);
  });
});

describe('prices of a source for Coinbase', () => {
  test.each(COINBASE_PRICES)('are exact, missing or a failure: %s', async (_, response, expected) => {
    await expectPrice(coinbase(respond(response)), expected);
  });
});

describe('native prices of CoW Protocol', () => {
  test.each(COW_NATIVE_PRICES)('are exact, missing or a failure: %s', async (name, response, expected) => {
    const host = name.replaceAll(' ', '-').toLowerCase(); // the budget of a host is shared
    const estimator = orderBookQuotes({ url: `https://${host}.example/mainnet`, fetch: respond(response) });
    const { book } = await accountFixture({}, { chainId: 1, quotes: { estimators: [estimator], gasPrice: 1 } });
    const nativeUsd = fixedUsdPrices({ 1: { [NATIVE]: ETHER } });
    const source = nativePriceSource({ books: [book], decimals: () => 18, nativeUsd });
    await expectPrice(source, typeof expected === 'number' ? expected * ETHER : expected);
  });
});

describe('price histories of services', () => {
  const prices = Array.from({ length: 24 }, (_, i) => 2 + (i % 2) / 100);
  const flat = prices.map(() => 100);

  /** Requests the tolerance of a pair from a source whose response depends on the time of the newest price. */
  async function readTolerance(create: (end: number, list: readonly number[]) => PriceHistorySource) {
    let now = 0;
    const history: PriceHistorySource = {
      name: 'service',
      priceHistory: (query, call) =>
        create(now, query.token === COW.toLowerCase() ? prices : flat).priceHistory({ ...query, chainId: 1 }, call),
    };
    const { accounts, failures, clock } = await accountFixture({ slippage: { histories: [history] } });
    now = clock.now();
    return { ...(await accounts.slippage.get(SEPOLIA, COW, WETH)), hasFailed: failures.length > 0 };
  }
  const coinGeckoOf = (body: unknown) => coinGeckoHistory({ fetch: respond([200, body]) });
  const known = { slippageBps: 25, known: true, hasFailed: false };
  const unknown = (hasFailed: boolean) => ({ slippageBps: 50, known: false, hasFailed });

  test.each<[string, (end: number, list: readonly number[]) => unknown, unknown]>([
    ['of the last day', coinGeckoChart, known],
    ['with null among the prices', (end, list) => coinGeckoChart(end, [null, ...list]), known],
    ['with the newest price first', (end, list) => ({ prices: coinGeckoChart(end, list).prices.reverse() }), known],
    ['without a point', () => ({ prices: [] }), unknown(false)],
    [
      'of null only',
      (end, list) =>
        coinGeckoChart(
          end,
          list.map(() => null),
        ),
      unknown(true),
    ],
    ['of last month', (end, list) => coinGeckoChart(end - 30 * 86_400_000, list), unknown(true)],
    [
      'with times in seconds',
      (end, list) => ({ prices: coinGeckoChart(end, list).prices.map(([at, price]) => [Number(at) / 1000, price]) }),
      unknown(true),
    ],
    [
      'with times in microseconds',
      (end, list) => ({ prices: coinGeckoChart(end, list).prices.map(([at, price]) => [Number(at) * 1000, price]) }),
      unknown(true),
    ],
    ['with an error in a 200', () => ({ status: { error_code: 429 } }), unknown(true)],
  ])('are read from CoinGecko: %s', async (_, create, expected) => {
    expect(await readTolerance((end, list) => coinGeckoOf(create(end, list)))).toEqual(expected);
  });

  /** The points of `chart/{coins}` of DefiLlama, whose times are in seconds. */
  const chart = (end: number, list: readonly number[]) =>
    list.map((price, i) => ({ timestamp: (end - (list.length - 1 - i) * 300_000) / 1000, price }));

  test.each([
    ['in milliseconds', 1000, known],
    ['in the seconds of the service', 1, unknown(true)],
  ])('are read from DefiLlama with times %s', async (_, factor, expected) => {
    const create = (end: number, list: readonly number[]): PriceHistorySource => ({
      name: 'DefiLlama',
      priceHistory: () => chart(end, list).map(({ timestamp, price }) => ({ at: timestamp * factor, price })),
    });
    expect(await readTolerance(create)).toEqual(expected);
  });

  test.each([{ price: null }, { price: '2.01' }, { price: -1 }, { timestamp: null }])(
    'are read from DefiLlama beside the malformed point %j, which is reported',
    async (malformed) => {
      const create = (end: number, list: readonly number[]): PriceHistorySource => ({
        name: 'DefiLlama',
        priceHistory: () =>
          [...chart(end, list), { ...chart(end, [2])[0], ...malformed }].map(
            ({ timestamp, price }) => ({ at: timestamp && timestamp * 1000, price }) as PricePoint, // or malformed
          ),
      });
      expect(await readTolerance(create)).toEqual({ ...known, hasFailed: true });
    },
  );
});
