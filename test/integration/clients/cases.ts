import type { OrderQuoteRequest, TradingSdk } from '@cowprotocol/cow-sdk';
import {
  OrderBookApi,
  OrderBookApiError,
  OrderKind,
  OrderQuoteSideKindSell,
  PriceQuality,
  SigningScheme,
} from '@cowprotocol/cow-sdk';
import type { OrderCreation } from '@cowprotocol/sdk-order-book';
import { expect } from 'vitest';
import { account, COW, SEPOLIA, signCancellation, signOrder, WETH } from '../../support/orders.ts';

/** The published clients, configured for a book. */
export interface ClientFixture {
  readonly api: OrderBookApi;
  readonly sdk: TradingSdk;
  /** Returns the requests since the last call: method, path and status. */
  sent(): string[];
}

/** One client operation. */
export interface ClientCase {
  readonly name: string;
  run(fixture: ClientFixture): Promise<void>;
}

/** The trader of the SDK. */
export const TRADER = account(9_001);
export const APP_CODE = 'intentbook tests';

/** Creates a client of the book at `url`. */
export function clientOf(url: string): OrderBookApi {
  return new OrderBookApi({
    chainId: SEPOLIA,
    baseUrls: { [SEPOLIA]: url } as never, // the type requires a URL for every chain
    // The built-in rate limit is meant for the public server.
    limiterOpts: { tokensPerInterval: 1000, interval: 'second' },
    backoffOpts: { numOfAttempts: 1 },
  });
}

const USDC = '0xbe72E441BF55620febc26715db68d3494213D8Cb';
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const MISSING = `0x${'00'.repeat(56)}`;
const ETHER = 10n ** 18n;

const inTenMinutes = () => Math.floor(Date.now() / 1000) + 600;
// Its enumerations are nominal.
const send = (api: OrderBookApi, order: object) => api.sendOrder(order as OrderCreation);

const sale = {
  kind: OrderKind.SELL,
  sellToken: WETH,
  sellTokenDecimals: 18,
  buyToken: COW,
  buyTokenDecimals: 18,
  amount: String(2n * ETHER),
};

const ORDER_BOOK_API: readonly ClientCase[] = [
  {
    name: 'sendOrder returns the UID, and getOrder the order with the total fee computed by the client',
    async run({ api }) {
      const trader = account(11);
      const uid = await send(api, await signOrder(trader, { validTo: inTenMinutes() }));
      expect(uid).toMatch(/^0x[0-9a-f]{112}$/);
      const order = await api.getOrder(uid);
      expect(order).toMatchObject({ uid, status: 'open', owner: trader.address.toLowerCase(), totalFee: '0' });
    },
  },
  {
    name: 'getOrders lists the orders of an owner for both ECDSA schemes',
    async run({ api }) {
      const uid = await send(api, await signOrder(account(12), { validTo: inTenMinutes() }, { scheme: 'ethsign' }));
      const orders = await api.getOrders({ owner: account(12).address });
      expect(orders.map((order) => [order.uid, order.signingScheme])).toEqual([[uid, 'ethsign']]);
    },
  },
  {
    name: 'getOrders pages by offset and limit',
    async run({ api }) {
      const owner = account(13);
      for (const sellAmount of ['1', '2', '3']) {
        await send(api, await signOrder(owner, { validTo: inTenMinutes(), sellAmount }));
      }
      const pages = [await api.getOrders({ owner: owner.address, limit: 2 })];
      pages.push(await api.getOrders({ owner: owner.address, limit: 2, offset: 2 }));
      expect(pages.map(({ length }) => length)).toEqual([2, 1]);
      expect(new Set(pages.flat().map(({ sellAmount }) => sellAmount))).toEqual(new Set(['1', '2', '3']));
    },
  },
  {
    name: 'sendSignedOrderCancellations cancels orders',
    async run({ api }) {
      const trader = account(11);
      const uid = await send(api, await signOrder(trader, { validTo: inTenMinutes(), sellAmount: '3' }));
      const orderUids = [uid];
      const signed = { orderUids, ...(await signCancellation(trader, { orderUids })) };
      await api.sendSignedOrderCancellations(signed as never); // nominal type
      expect((await api.getOrder(uid)).status).toBe('cancelled');
    },
  },
  {
    name: 'uploadAppData and getAppData use the hash computed by the client',
    async run({ api }) {
      const document = JSON.stringify({ appCode: APP_CODE, metadata: {}, version: '1.1.0' });
      const order = await signOrder(account(14), { validTo: inTenMinutes(), appData: document });
      const { appData: hash } = await api.getOrder(await send(api, order));
      await api.uploadAppData(hash, document);
      expect(await api.getAppData(hash)).toEqual({ fullAppData: document });
    },
  },
  {
    name: 'getVersion returns text',
    async run({ api }) {
      expect(await api.getVersion()).toMatch(/^intentbook /);
    },
  },
  {
    name: 'a bad signature raises an OrderBookApiError with type and hint',
    async run({ api }) {
      const trader = account(11);
      const order = await signOrder(trader, { validTo: inTenMinutes() });
      const error = await send(api, { ...order, buyAmount: '1' }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OrderBookApiError);
      const { response, body } = error as OrderBookApiError;
      expect(response.status).toBe(400);
      expect(body).toMatchObject({
        errorType: 'InvalidSignature',
        data: { expected: trader.address.toLowerCase(), recovered: expect.stringMatching(/^0x[0-9a-f]{40}$/) },
      });
    },
  },
  {
    name: 'a missing order is 404, requested once per environment',
    async run({ api }) {
      await expect(api.getOrder(MISSING)).rejects.toMatchObject({ response: { status: 404 } });
      await expect(api.getOrderMultiEnv(MISSING)).rejects.toMatchObject({ response: { status: 404 } });
    },
  },
  {
    name: 'getTrades, getTxOrders and getTotalSurplus return empty results without trades',
    async run({ api }) {
      expect(await api.getTrades({ owner: account(15).address })).toEqual([]);
      expect(await api.getTxOrders(`0x${'11'.repeat(32)}`)).toEqual([]);
      expect(await api.getTotalSurplus(account(15).address)).toEqual({ totalSurplus: '0' });
    },
  },
  {
    name: 'getOrderCompetitionStatus works for an order without auction, and getSolverCompetition rejects an unknown one',
    async run({ api }) {
      const uid = await send(api, await signOrder(account(16), { validTo: inTenMinutes() }));
      expect(await api.getOrderCompetitionStatus(uid)).toMatchObject({ type: 'scheduled' });
      await expect(api.getSolverCompetition(1)).rejects.toMatchObject({ response: { status: 404 } });
    },
  },
];

const TRADING_SDK: readonly ClientCase[] = [
  {
    name: 'getQuote amounts and costs agree with the prices',
    async run({ sdk }) {
      const { quoteResults } = await sdk.getQuote(sale);
      const { quoteResponse, amountsAndCosts } = quoteResults;
      expect(BigInt(quoteResponse.quote.sellAmount) + BigInt(quoteResponse.quote.feeAmount)).toBe(2n * ETHER);
      expect(amountsAndCosts.costs.networkFee.amountInSellCurrency).toBe(BigInt(quoteResponse.quote.feeAmount));
      expect(amountsAndCosts.beforeNetworkCosts.sellAmount).toBe(2n * ETHER);
      // One WETH is worth ten thousand COW.
      expect(BigInt(quoteResponse.quote.buyAmount)).toBe(BigInt(quoteResponse.quote.sellAmount) * 10_000n);
      expect(typeof quoteResponse.id).toBe('number');
    },
  },
  {
    name: 'postSwapOrder of a sale with default slippage sells the requested amount to the atom',
    async run({ sdk, api, sent }) {
      sent();
      const { orderId } = await sdk.postSwapOrder(sale);
      const order = await api.getOrder(orderId);
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
      // The app data of the order differs from that of the quote by its slippage; the order is still linked to the
      // quote.
      expect(order).toMatchObject({
        quote: { sellAmount: String(2n * ETHER), buyAmount: String(20_000n * ETHER), verified: false },
      });
      expect(JSON.parse(order.fullAppData ?? '')).toMatchObject({
        appCode: APP_CODE,
        metadata: { orderClass: { orderClass: 'market' } },
      });
      expect(sent().slice(0, 3)).toEqual([
        'POST /api/v1/quote 200',
        // The document of another case exists already.
        expect.stringMatching(/^PUT \/api\/v1\/app_data 20[01]$/),
        'POST /api/v1/orders 201',
      ]);
    },
  },
  {
    name: 'postSwapOrder of a purchase buys the requested amount to the atom',
    async run({ sdk, api }) {
      const { orderId } = await sdk.postSwapOrder({ ...sale, kind: OrderKind.BUY, amount: String(5_000n * ETHER) });
      const order = await api.getOrder(orderId);
      expect(order).toMatchObject({ kind: 'buy', status: 'open', buyAmount: String(5_000n * ETHER) });
      expect(order).toMatchObject({ quote: { buyAmount: String(5_000n * ETHER), sellAmount: String(ETHER / 2n) } });
      expect(BigInt(order.sellAmount)).toBeGreaterThan(ETHER / 2n);
    },
  },
  {
    name: 'postSwapOrder accepts a custom slippage for a token that only the price table lists',
    async run({ sdk, api }) {
      const { orderId } = await sdk.postSwapOrder({ ...sale, buyToken: USDC, slippageBps: 100 });
      const order = await api.getOrder(orderId);
      expect(order).toMatchObject({ sellAmount: String(2n * ETHER), buyToken: USDC.toLowerCase() });
    },
  },
  {
    name: 'postSwapOrder sells native currency',
    async run({ sdk, api }) {
      const amount = String(10_000n * ETHER);
      const { orderId } = await sdk.postSwapOrder({ ...sale, sellToken: COW, buyToken: NATIVE, amount });
      expect(await api.getOrder(orderId)).toMatchObject({
        buyToken: NATIVE.toLowerCase(),
        quote: { sellAmount: amount },
      });
    },
  },
  {
    name: 'postLimitOrder requests no quote, and the book quotes the order itself',
    async run({ sdk, api, sent }) {
      sent();
      const { amount: _, ...tokens } = sale;
      const limit = { ...tokens, sellAmount: '123456789', buyAmount: '987654321' };
      const { orderId } = await sdk.postLimitOrder(limit);
      expect(sent().slice(0, 2)).toEqual([
        expect.stringMatching(/^PUT \/api\/v1\/app_data 20[01]$/),
        'POST /api/v1/orders 201',
      ]);
      const order = await api.getOrder(orderId);
      expect(order).toMatchObject({ sellAmount: '123456789', buyAmount: '987654321', status: 'open' });
      // A book in front of another one reads the quote there, after it has accepted the order.
      const readQuote = async () => (await api.getOrder(orderId)).quote;
      await expect.poll(readQuote, { timeout: 10_000 }).toMatchObject({ sellAmount: '123456789' });
    },
  },
  {
    name: 'offChainCancelOrder cancels an order',
    async run({ sdk, api }) {
      const { orderId } = await sdk.postSwapOrder({ ...sale, amount: String(3n * ETHER) });
      expect(await sdk.offChainCancelOrder({ orderUid: orderId })).toBe(true);
      expect(await api.getOrder(orderId)).toMatchObject({ status: 'cancelled', invalidated: true });
      expect((await sdk.getOrder({ orderUid: orderId })).status).toBe('cancelled');
    },
  },
  {
    name: 'amounts below the fee and tokens without liquidity raise the errors of the SDK',
    async run({ sdk }) {
      await expect(sdk.getQuote({ ...sale, amount: '1' })).rejects.toMatchObject({
        body: { errorType: 'SellAmountDoesNotCoverFee', data: { fee_amount: '150000000000000' } },
      });
      const unknown = '0x00000000000000000000000000000000000000cc';
      await expect(sdk.getQuote({ ...sale, buyToken: unknown })).rejects.toMatchObject({
        response: { status: 400 },
        body: { errorType: 'NoLiquidity' },
      });
    },
  },
  {
    name: 'OrderBookApi returns getQuote of an on-chain placement and getNativePrice',
    async run({ api }) {
      const request: OrderQuoteRequest = {
        sellToken: WETH,
        buyToken: COW,
        from: TRADER.address,
        kind: OrderQuoteSideKindSell.SELL,
        sellAmountBeforeFee: String(ETHER),
        signingScheme: SigningScheme.EIP1271,
        onchainOrder: true,
        priceQuality: PriceQuality.OPTIMAL,
        ...({ verificationGasLimit: 0 } as object), // sent by the SDK, and missing in its types
      };
      const quote = await api.getQuote(request);
      expect(Date.parse(quote.expiration)).toBeGreaterThan(Date.now() + 590_000);
      expect(quote.quote.feeAmount).toBe('150000000000000');
      expect(await api.getNativePrice(COW)).toEqual({ price: 0.0001 });
    },
  },
];

/** Operations of the published clients on a book: one list, run against every mount and the server. */
export const CLIENT_CASES: readonly ClientCase[] = [...ORDER_BOOK_API, ...TRADING_SDK];
