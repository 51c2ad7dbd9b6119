import { OrderBookApi, OrderKind, TradingSdk } from '@cowprotocol/cow-sdk';
import { OrderBookApi as BareOrderBookApi } from '@cowprotocol/sdk-order-book';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import type { OrderStatus } from 'intentbook';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { encodeSettlement } from 'intentbook/solver';
import type { Hex } from 'viem';
import { createPublicClient, createWalletClient, http, parseAbi } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const SEPOLIA = 11155111;
const ETHER = 10n ** 18n;

/** Swaps of the unmodified SDK. The measured run has 50: `TEST_SANDBOX_SWAPS=50`. */
const SWAPS = Number(process.env['TEST_SANDBOX_SWAPS'] ?? 3);

/** The clients that are published for the protocol, without changes, against a sandbox. */
describe('an unmodified SDK', () => {
  let sandbox: Sandbox;
  let sdk: TradingSdk;
  let api: OrderBookApi;
  let account: ReturnType<typeof privateKeyToAccount>;

  beforeAll(async () => {
    sandbox = await createSandbox();
    const [first] = sandbox.accounts;
    account = privateKeyToAccount(first?.privateKey ?? '0x');
    // The type requires URLs of all chains.
    const client = { baseUrls: { [SEPOLIA]: sandbox.url } as never, backoffOpts: { numOfAttempts: 1 } };
    api = new OrderBookApi({
      chainId: SEPOLIA,
      ...client,
      limiterOpts: { tokensPerInterval: 1000, interval: 'second' },
    });
    const provider = createPublicClient({ chain: sepolia, transport: http(sandbox.rpcUrl) });
    const adapter = new ViemAdapter({ provider, signer: account } as never); // of another copy of viem's types
    sdk = new TradingSdk(
      { chainId: SEPOLIA, appCode: 'sandbox', signer: account as never },
      { orderBookApi: api },
      adapter,
    );
  });
  afterAll(() => sandbox.close());

  const tokens = () => ({
    sellToken: sandbox.token('WETH').address,
    sellTokenDecimals: 18,
    buyToken: sandbox.token('USDC').address,
    buyTokenDecimals: sandbox.token('USDC').decimals,
  });

  async function waitFor(uid: string, status: OrderStatus): Promise<void> {
    while ((await api.getOrder(uid)).status !== status) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  it('swaps, and the order is fulfilled', async () => {
    const times: number[] = [];
    for (let i = 0; i < SWAPS; i++) {
      const kind = i % 2 === 0 ? OrderKind.SELL : OrderKind.BUY;
      const amount = String(kind === OrderKind.SELL ? ETHER / 10n : 100n * ETHER);
      const { postSwapOrderFromQuote } = await sdk.getQuote({ kind, ...tokens(), amount });
      const start = performance.now();
      const { orderId } = await postSwapOrderFromQuote();
      await waitFor(orderId, 'fulfilled');
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    if (SWAPS >= 50) {
      const at = (share: number) => Math.round(times[Math.floor(share * times.length)] ?? 0);
      process.stderr.write(`post to fulfilled, ${SWAPS} swaps: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms\n`);
    }
    expect(times).toHaveLength(SWAPS);
  });

  it('places a limit order, and cancels it by a signature', async () => {
    const { orderId } = await sdk.postLimitOrder({
      kind: OrderKind.SELL,
      ...tokens(),
      sellAmount: String(ETHER),
      buyAmount: String(9_000n * ETHER),
    });
    await waitFor(orderId, 'open');
    expect(await sdk.offChainCancelOrder({ orderUid: orderId })).toBe(true);
    await waitFor(orderId, 'cancelled');
  });

  it('sells native currency through its contract', async () => {
    const { buyToken, buyTokenDecimals } = tokens();
    const sale = {
      kind: OrderKind.SELL,
      buyToken,
      buyTokenDecimals,
      sellTokenDecimals: 18,
      amount: String(ETHER / 10n),
    };
    const { orderId } = await sdk.postSellNativeCurrencyOrder({
      ...sale,
      sellToken: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
    });
    await sandbox.waitFor(orderId, 'fulfilled');
    expect(await api.getOrder(orderId)).toMatchObject({ onchainUser: account.address.toLowerCase() });
  });

  it('cancels an order on chain', async () => {
    const { orderId } = await sdk.postLimitOrder({
      kind: OrderKind.SELL,
      ...tokens(),
      sellAmount: String(ETHER),
      buyAmount: String(9_500n * ETHER),
    });
    // The SDK encodes the value of this transaction in a way that the node rejects, so that the call is made directly.
    const wallet = createWalletClient({ account, chain: sepolia, transport: http(sandbox.rpcUrl) });
    await wallet.writeContract({
      address: sandbox.settlementContract,
      abi: parseAbi(['function invalidateOrder(bytes)']),
      functionName: 'invalidateOrder',
      args: [orderId as Hex],
    });
    await waitFor(orderId, 'cancelled');
  });

  it('reads orders, trades, competitions and surplus', async () => {
    // The type requires URLs of all chains.
    const bare = new BareOrderBookApi({ chainId: SEPOLIA, baseUrls: { [SEPOLIA]: sandbox.url } as never });
    const { orderId } = await sdk.postSwapOrder({ kind: OrderKind.SELL, ...tokens(), amount: String(ETHER / 4n) });
    await waitFor(orderId, 'fulfilled');
    const [trade] = await bare.getTrades({ orderUid: orderId });
    expect(trade).toMatchObject({ orderUid: orderId });
    expect(await bare.getTxOrders(trade?.txHash ?? '')).toMatchObject([{ uid: orderId }]);
    expect(await bare.getSolverCompetition(trade?.txHash as never)).toMatchObject({ solutions: [{ isWinner: true }] });
    expect(await bare.getOrderCompetitionStatus(orderId)).toMatchObject({ type: 'traded' });
    expect(BigInt((await bare.getTotalSurplus(account.address)).totalSurplus ?? 0)).toBeGreaterThan(0n);
  });
});

it('the contracts package decodes a settlement of the reference solver', async () => {
  const { GPv2Settlement } = {
    GPv2Settlement: (
      await import('@cowprotocol/contracts/lib/contracts/GPv2Settlement.json', { with: { type: 'json' } })
    ).default,
  };
  const { decodeFunctionData } = await import('viem');
  await using sandbox = await createSandbox({ solver: 'off' });
  const trader = await sandbox.createTrader({ WETH: '1' });
  const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2000', 'USDC'] });
  const { orders } = await sandbox.book.auctions.current();
  const order = orders.find((each) => each.uid === uid);
  if (order === undefined) throw new Error('the order is not in the auction');
  const prices = { [order.sellToken]: 2500n, [order.buyToken]: 10n ** 12n };
  const data = encodeSettlement({ prices, fills: [{ order, executed: ETHER, fee: 1000n }], interactions: [] }, 7);
  const { functionName, args } = decodeFunctionData({ abi: GPv2Settlement.abi, data });
  const [tokens, clearing, trades] = args as unknown as [
    Hex[],
    bigint[],
    { executedAmount: bigint; sellTokenIndex: bigint }[],
  ];
  expect(functionName).toBe('settle');
  expect([tokens.length, clearing.length, trades.length]).toEqual([4, 4, 1]);
  expect(trades[0]).toMatchObject({ executedAmount: ETHER, sellTokenIndex: 2n });
});
