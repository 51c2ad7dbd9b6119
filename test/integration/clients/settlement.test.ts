import { OrderBookApi, OrderKind, TradingSdk } from '@cowprotocol/cow-sdk';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import type { Auction, AuctionOrder, Order } from 'intentbook';
import type { RunningServer } from 'intentbook/server';
import { serve } from 'intentbook/server';
import type { Hex, LocalAccount } from 'viem';
import { createPublicClient, http } from 'viem';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SOLVER } from '../../support/evm.ts';
import { SEPOLIA } from '../../support/orders.ts';
import type { Fixture } from '../chain/evm-fixture.ts';
import { fundedTrader, startFixture } from '../chain/evm-fixture.ts';
import { settle } from '../chain/settle.ts';

const ETHER = 10n ** 18n;

const OPERATOR_TOKEN = 'a-token-of-the-operator';

/** The published trading SDK, a server and a chain with the production contracts: a complete trade. */
describe('TradingSdk', () => {
  let fixture: Fixture;
  let server: RunningServer;
  let trader: LocalAccount;
  let sdk: TradingSdk;
  let api: OrderBookApi;

  beforeAll(async () => {
    fixture = await startFixture();
    trader = await fundedTrader(fixture);
    const { sellToken, buyToken } = fixture;
    server = await serve({
      port: 0,
      db: ':memory:',
      chain: 'sepolia',
      rpc: [fixture.url],
      fromBlock: 1,
      operatorToken: OPERATOR_TOKEN,
      gasPrice: '1',
      prices: { [sellToken]: { price: '1', decimals: 18 }, [buyToken]: { price: '0.5', decimals: 18 } },
    });
    api = new OrderBookApi({
      chainId: SEPOLIA,
      baseUrls: { [SEPOLIA]: server.url } as never, // the type requires a URL for every chain
      backoffOpts: { numOfAttempts: 1 },
    });
    const provider = createPublicClient({ chain: sepolia, transport: http(fixture.url) });
    const adapter = new ViemAdapter({ provider, signer: trader } as never); // of another copy of viem's types
    sdk = new TradingSdk(
      { chainId: SEPOLIA, appCode: 'intentbook tests', signer: trader as never },
      { orderBookApi: api },
      adapter,
    );
  });
  afterAll(async () => {
    await server.close();
    await fixture[Symbol.asyncDispose]();
  });

  // Asserted by the test.
  const get = async <T>(path: string) => (await (await fetch(`${server.url}/api/v1${path}`)).json()) as T;

  /** Records that the solver has won the auction with these amounts. */
  async function recordCompetition(auction: Auction, order: AuctionOrder, bought: bigint) {
    const { uid: id, sellToken, buyToken, sellAmount } = order;
    const solution = {
      solverAddress: SOLVER,
      score: '1',
      ranking: 1,
      clearingPrices: { [sellToken]: '1998', [buyToken]: '1000' },
      orders: [{ id, sellToken, buyToken, sellAmount, buyAmount: String(bought) }],
      isWinner: true,
      filteredOut: false,
      txHash: null,
      referenceScore: '0',
    };
    const competition = {
      auctionId: auction.id,
      auctionStartBlock: auction.block,
      auctionDeadlineBlock: auction.block + 100,
      transactionHashes: [],
      referenceScores: {},
      auction: { orders: [id], prices: auction.prices },
      solutions: [solution],
    };
    const response = await fetch(`${server.url}/restricted/api/v1/competition`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${OPERATOR_TOKEN}` },
      body: JSON.stringify(competition),
    });
    expect([response.status, await response.json()]).toEqual([201, { status: 'recorded' }]);
  }

  /** Settles an order of the auction at the prices of a solver. @param bought - Recorded in the competition. */
  async function solve(uid: string, prices: Readonly<Record<string, bigint>>, bought?: bigint) {
    const auction = await get<Auction>('/auction');
    const listed = auction.orders.find((order) => order.uid === uid);
    if (listed === undefined) throw new Error('the auction is without the order');
    if (bought !== undefined) await recordCompetition(auction, listed, bought);
    const { transactionHash } = await settle(fixture.client, [{ order: asOrder(listed) }], prices, auction.id);
    return { auction, transactionHash };
  }

  async function fulfilled(uid: string): Promise<Order> {
    for (;;) {
      const order = await get<Order>(`/orders/${uid}`);
      if (order.status === 'fulfilled') return order;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test('an order quoted, signed and sent by the SDK settles against the auction to the atom', async () => {
    const { sellToken, buyToken } = fixture;
    const trade = { sellToken, buyToken, sellTokenDecimals: 18, buyTokenDecimals: 18, amount: String(2n * ETHER) };
    const { orderId } = await sdk.postSwapOrder({ kind: OrderKind.SELL, ...trade });
    const signed = await get<Order>(`/orders/${orderId}`);
    expect(signed).toMatchObject({
      status: 'open',
      sellAmount: String(2n * ETHER),
      owner: trader.address.toLowerCase(),
    });
    const limit = BigInt(signed.buyAmount);
    // Half a percent below the quoted price, which exceeds the SDK's slippage.
    expect(limit).toBeLessThan((4n * ETHER * 998n) / 1000n);
    const bought = (2n * ETHER * 1_998n) / 1000n;
    const { auction, transactionHash } = await solve(orderId, { [sellToken]: 1_998n, [buyToken]: 1000n }, bought);
    expect(auction.prices).toMatchObject({ [buyToken.toLowerCase()]: String(ETHER / 2n) });
    const order = await fulfilled(orderId);
    expect(order).toMatchObject({
      executedSellAmount: String(2n * ETHER),
      executedBuyAmount: String(bought),
      executedFee: '0',
      executedFeeToken: sellToken.toLowerCase(),
      invalidated: false,
    });
    expect(order.quote).toMatchObject({ sellAmount: String(2n * ETHER), verified: false });
    const [fill, ...others] = await api.getTrades({ orderUid: orderId });
    expect(others).toEqual([]);
    expect(fill).toMatchObject({ txHash: transactionHash, sellAmount: String(2n * ETHER), buyAmount: String(bought) });
    expect(await api.getTxOrders(transactionHash)).toMatchObject([{ uid: orderId }]);
    expect(await api.getOrderCompetitionStatus(orderId)).toMatchObject({ type: 'traded' });
    // In wei: half of the atoms above the limit, at the price of the auction.
    expect(bought).toBeGreaterThan(limit);
    expect(await api.getTotalSurplus(trader.address)).toEqual({ totalSurplus: String((bought - limit) / 2n) });
  });

  test('a buy order quoted, signed and sent by the SDK settles to the atom', async () => {
    const { sellToken, buyToken } = fixture;
    const trade = { sellToken, buyToken, sellTokenDecimals: 18, buyTokenDecimals: 18, amount: String(3n * ETHER) };
    const { orderId } = await sdk.postSwapOrder({ kind: OrderKind.BUY, ...trade });
    await solve(orderId, { [sellToken]: 2n, [buyToken]: 1n });
    expect(await fulfilled(orderId)).toMatchObject({
      kind: 'buy',
      executedBuyAmount: String(3n * ETHER),
      executedSellAmount: String((3n * ETHER) / 2n),
    });
  });
});

/** Converts an order of the auction to the form of the settlement helper. */
function asOrder({ preInteractions: pre, postInteractions: post, ...order }: AuctionOrder): Order {
  // The fields that a settlement requires.
  return { ...order, interactions: { pre, post } } as unknown as Order & { uid: Hex };
}
