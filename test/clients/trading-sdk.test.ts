import { createRequire } from 'node:module';
import type { OrderQuoteRequest, TradingSdk as Sdk } from '@cowprotocol/cow-sdk';
import {
  OrderBookApi,
  OrderKind,
  OrderQuoteSideKindSell,
  PriceQuality,
  SigningScheme,
  TradingSdk,
} from '@cowprotocol/cow-sdk';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import type { RunningServer } from 'intentbook/server';
import { serve } from 'intentbook/server';
import { createPublicClient, custom } from 'viem';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, COW, SEPOLIA, WETH } from '../support/orders.ts';

const USDC = '0xbe72E441BF55620febc26715db68d3494213D8Cb';
const ETHER = 10n ** 18n;
const TRADER = account(9_001);
const APP_CODE = 'intentbook tests';

/**
 * The trading SDK as it is published, against the standalone server with the prices that it has by itself. Whatever the
 * SDK would ask a node fails the test: it needs none.
 */
describe('the TradingSdk of @cowprotocol/cow-sdk, unmodified, against the server as it comes', () => {
  let server: RunningServer;
  let sdk: Sdk;
  let api: OrderBookApi;
  const sent: { method: string; path: string; status: number }[] = [];

  beforeAll(async () => {
    server = await serve({ port: 0, db: ':memory:', chain: 'sepolia' });
    api = new OrderBookApi({
      chainId: SEPOLIA,
      baseUrls: { [SEPOLIA]: server.url } as never, // the type asks for a URL of every chain
      limiterOpts: { tokensPerInterval: 1000, interval: 'second' },
      backoffOpts: { numOfAttempts: 1 },
    });
    const provider = createPublicClient({
      chain: sepolia,
      transport: custom({
        request({ method }: { method: string }) {
          return Promise.reject(new Error(`the SDK has asked a node: ${method}`));
        },
      }),
    });
    const adapter = new ViemAdapter({ provider, signer: TRADER } as never); // of another copy of viem's types
    sdk = new TradingSdk(
      { chainId: SEPOLIA, appCode: APP_CODE, signer: TRADER as never },
      { orderBookApi: api },
      adapter,
    );
    const original = globalThis.fetch;
    globalThis.fetch = async (...[input, init]) => {
      const response = await original(input, init);
      sent.push({ method: init?.method ?? 'GET', path: new URL(String(input)).pathname, status: response.status });
      return response;
    };
    restore = () => {
      globalThis.fetch = original;
    };
  });
  let restore = () => {};
  afterAll(async () => {
    restore();
    await server.close();
  });

  const sale = {
    kind: OrderKind.SELL,
    sellToken: WETH,
    sellTokenDecimals: 18,
    buyToken: COW,
    buyTokenDecimals: 18,
    amount: String(2n * ETHER),
  };
  const read = async (uid: string) =>
    (await (await fetch(`${server.url}/api/v1/orders/${uid}`)).json()) as Record<
      'buyAmount' | 'sellAmount' | 'fullAppData',
      string
    > & { quote: unknown };
  const requests = () =>
    sent.splice(0).map(({ method, path, status }) => `${method} ${path.split('/').slice(0, 4).join('/')} ${status}`);

  test('the versions are those that this is said of', () => {
    const version = (name: string) => createRequire(import.meta.url)(`${name}/package.json`).version;
    expect(version('@cowprotocol/sdk-viem-adapter')).toBe('0.3.17');
    expect(createRequire(import.meta.url).resolve('@cowprotocol/cow-sdk')).toContain('cow-sdk');
  });

  test('getQuote: the amounts and costs that the SDK works out agree with the prices', async () => {
    const { quoteResults } = await sdk.getQuote(sale);
    const { quoteResponse, amountsAndCosts } = quoteResults;
    expect(BigInt(quoteResponse.quote.sellAmount) + BigInt(quoteResponse.quote.feeAmount)).toBe(2n * ETHER);
    expect(amountsAndCosts.costs.networkFee.amountInSellCurrency).toBe(BigInt(quoteResponse.quote.feeAmount));
    expect(amountsAndCosts.beforeNetworkCosts.sellAmount).toBe(2n * ETHER);
    // One WETH is ten thousand COW.
    expect(BigInt(quoteResponse.quote.buyAmount)).toBe(BigInt(quoteResponse.quote.sellAmount) * 10_000n);
    expect(typeof quoteResponse.id).toBe('number');
  });

  test('postSwapOrder of a sale, with the slippage it chooses: what is sold is what was asked about, to the atom', async () => {
    requests();
    const { orderId } = await sdk.postSwapOrder(sale);
    const order = await read(orderId);
    expect(order).toMatchObject({
      kind: 'sell',
      status: 'open',
      class: 'limit',
      owner: TRADER.address.toLowerCase(),
      sellAmount: String(2n * ETHER),
      feeAmount: '0',
    });
    expect(BigInt(order.buyAmount)).toBeLessThan(20_000n * ETHER);
    expect(BigInt(order.buyAmount)).toBeGreaterThan(19_000n * ETHER);
    // The order's app data is not the quote's (the slippage in it differs), and still it is linked to its quote.
    expect(order.quote).toMatchObject({
      sellAmount: String(2n * ETHER),
      buyAmount: String(20_000n * ETHER),
      verified: false,
    });
    expect(JSON.parse(order.fullAppData)).toMatchObject({
      appCode: APP_CODE,
      metadata: { orderClass: { orderClass: 'market' } },
    });
    expect(requests().slice(0, 3)).toEqual([
      'POST /api/v1/quote 200',
      'PUT /api/v1/app_data 201',
      'POST /api/v1/orders 201',
    ]);
  });

  test('postSwapOrder of a purchase: what is bought is what was asked about, to the atom', async () => {
    const { orderId } = await sdk.postSwapOrder({ ...sale, kind: OrderKind.BUY, amount: String(5_000n * ETHER) });
    const order = await read(orderId);
    expect(order).toMatchObject({ kind: 'buy', status: 'open', buyAmount: String(5_000n * ETHER) });
    expect(order.quote).toMatchObject({ buyAmount: String(5_000n * ETHER), sellAmount: String(ETHER / 2n) });
    expect(BigInt(order.sellAmount)).toBeGreaterThan(ETHER / 2n);
  });

  test('postSwapOrder with a slippage of its own, for a token of the table that only has a price there', async () => {
    const { orderId } = await sdk.postSwapOrder({ ...sale, buyToken: USDC, slippageBps: 100 });
    expect(await read(orderId)).toMatchObject({ sellAmount: String(2n * ETHER), buyToken: USDC.toLowerCase() });
  });

  test('postSwapOrder for native currency', async () => {
    const native = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
    const { orderId } = await sdk.postSwapOrder({
      ...sale,
      sellToken: COW,
      buyToken: native,
      amount: String(10_000n * ETHER),
    });
    expect(await read(orderId)).toMatchObject({
      buyToken: native.toLowerCase(),
      quote: { sellAmount: String(10_000n * ETHER) },
    });
  });

  test('postLimitOrder asks for no quote, and has the one that fits if there is one', async () => {
    requests();
    const { amount: _, ...tokens } = sale;
    const limit = { ...tokens, sellAmount: '123456789', buyAmount: '987654321' };
    const { orderId } = await sdk.postLimitOrder(limit);
    expect(requests().slice(0, 2)).toEqual(['PUT /api/v1/app_data 201', 'POST /api/v1/orders 201']);
    const order = await read(orderId);
    expect(order).toMatchObject({ sellAmount: '123456789', buyAmount: '987654321', status: 'open' });
    expect(order).not.toHaveProperty('quote');
  });

  test('offChainCancelOrder cancels', async () => {
    const { orderId } = await sdk.postSwapOrder({ ...sale, amount: String(3n * ETHER) });
    expect(await sdk.offChainCancelOrder({ orderUid: orderId })).toBe(true);
    expect(await read(orderId)).toMatchObject({ status: 'cancelled', invalidated: true });
    expect((await sdk.getOrder({ orderUid: orderId })).status).toBe('cancelled');
  });

  test('what is too small for its fee, and what nobody trades, are errors that the SDK hands on', async () => {
    await expect(sdk.getQuote({ ...sale, amount: '1' })).rejects.toMatchObject({
      body: { errorType: 'SellAmountDoesNotCoverFee', data: { fee_amount: '150000000000000' } },
    });
    const unknown = '0x00000000000000000000000000000000000000cc';
    await expect(sdk.getQuote({ ...sale, buyToken: unknown })).rejects.toMatchObject({
      response: { status: 400 },
      body: { errorType: 'NoLiquidity' },
    });
  });

  test('OrderBookApi: getQuote of a placement on chain, and getNativePrice', async () => {
    const request: OrderQuoteRequest = {
      sellToken: WETH,
      buyToken: COW,
      from: TRADER.address,
      kind: OrderQuoteSideKindSell.SELL,
      sellAmountBeforeFee: String(ETHER),
      signingScheme: SigningScheme.EIP1271,
      onchainOrder: true,
      priceQuality: PriceQuality.OPTIMAL,
      ...({ verificationGasLimit: 0 } as object), // sent by the SDK, and in no type of it
    };
    const quote = await api.getQuote(request);
    expect(Date.parse(quote.expiration)).toBeGreaterThan(Date.now() + 590_000);
    expect(quote.quote.feeAmount).toBe('150000000000000');
    expect(await api.getNativePrice(COW)).toEqual({ price: 0.0001 });
  });
});
