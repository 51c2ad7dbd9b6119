import { createSandbox, type Sandbox } from 'intentbook/sandbox';
import { createPublicClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BRIDGING_PACKAGES, installPackages } from '../../support/published-packages.ts';

const DEPOSIT = `0x${'de'.repeat(20)}`;
const PROVIDER = 'cow-sdk://bridging/providers/tests';

/** The package. */
interface Bridging {
  readonly BridgingSdk: new (
    options: object,
    adapter: unknown,
  ) => {
    getQuote(request: object): Promise<{
      readonly bridge: { readonly amountsAndCosts: object };
      postSwapOrderFromQuote(): Promise<{ readonly orderId: string }>;
    }>;
    getOrder(parameters: object): Promise<Readonly<Record<string, unknown>> | null>;
  };
}

let sandbox: Sandbox;
let packages: Awaited<ReturnType<typeof installPackages<Bridging>>>;
beforeAll(async () => {
  packages = await installPackages(BRIDGING_PACKAGES);
  sandbox = await createSandbox();
}, 400_000);
afterAll(() => sandbox?.close());

/** Creates a bridge that takes the bought tokens at its account, as those of NEAR Intents do. */
function createBridge(buyToken: object) {
  const amounts = (request: { readonly amount: bigint }) => ({
    sellAmount: request.amount,
    buyAmount: request.amount - 1000n,
  });
  return {
    type: 'ReceiverAccountBridgeProvider',
    info: { name: 'tests', logoUrl: '', dappId: PROVIDER, website: '', type: 'ReceiverAccountBridgeProvider' },
    getNetworks: async () => [],
    getBuyTokens: async () => ({ tokens: [], isRouteAvailable: true }),
    getIntermediateTokens: async () => [buyToken],
    async getQuote(request: { readonly amount: bigint }) {
      const [beforeFee, afterFee] = [{ ...amounts(request), buyAmount: request.amount }, amounts(request)];
      const bridgingFee = { feeBps: 0, amountInSellCurrency: 1000n, amountInBuyCurrency: 1000n };
      const amountsAndCosts = { beforeFee, afterFee, afterSlippage: afterFee, slippageBps: 0, costs: { bridgingFee } };
      const fees = { bridgeFee: 1000n, destinationGasFee: 0n };
      const limits = { minDeposit: 0n, maxDeposit: 2n ** 200n };
      return { isSell: true, amountsAndCosts, quoteTimestamp: 0, fees, limits };
    },
    getBridgeReceiverOverride: async () => DEPOSIT,
    getBridgingParams: async (_: number, { uid }: { uid: string }, txHash: string) => ({
      params: { bridgingId: `${uid}:${txHash}` },
      status: { status: 'in_progress' },
    }),
    getExplorerUrl: (id: string) => `https://bridge.example.org/${id}`,
  };
}

test('sdk-bridging: a swap with a bridge is quoted, settled to the account of the bridge, and found', async ({
  skip,
}) => {
  if (packages === undefined) return skip('the packages cannot be installed');
  const [weth, usdc] = [sandbox.token('WETH'), sandbox.token('USDC')];
  const { chainId } = sandbox;
  const trader = await sandbox.createTrader({ WETH: '2' });
  const provider = createPublicClient({ chain: sepolia, transport: http(sandbox.rpcUrl) });
  const signer = privateKeyToAccount(trader.privateKey);
  const adapter = new packages.ViemAdapter({ provider, signer });
  packages.setGlobalAdapter(adapter);
  const orderBookApi = new packages.OrderBookApi({ chainId, baseUrls: { [chainId]: sandbox.url } });
  const tradingSdk = new packages.TradingSdk({ chainId, appCode: 'tests', signer }, { orderBookApi }, adapter);
  const bridge = createBridge({ chainId, ...usdc, logoUrl: '' });
  const bridging = new packages.BridgingSdk({ providers: [bridge], tradingSdk, orderBookApi }, adapter);
  const { postSwapOrderFromQuote } = await bridging.getQuote({
    kind: 'sell',
    sellTokenChainId: chainId,
    sellTokenAddress: weth.address,
    sellTokenDecimals: 18,
    buyTokenChainId: 8453,
    buyTokenAddress: usdc.address,
    buyTokenDecimals: usdc.decimals,
    amount: 10n ** 18n,
    account: trader.address,
    signer,
  });
  const { orderId } = await postSwapOrderFromQuote();
  await sandbox.waitFor(orderId as `0x${string}`, 'fulfilled');
  const order = await sandbox.book.orders.get(orderId);
  expect(order).toMatchObject({ owner: trader.address.toLowerCase(), receiver: DEPOSIT, buyToken: usdc.address });
  expect(JSON.parse(order?.fullAppData ?? '{}').metadata.bridging).toMatchObject({ providerId: PROVIDER });
  const [trade] = await sandbox.book.trades.list({ orderUid: orderId });
  expect(await bridging.getOrder({ chainId, orderId })).toMatchObject({
    tradeTxHash: trade?.txHash,
    statusResult: { status: 'in_progress' },
    bridgingParams: { bridgingId: `${orderId}:${trade?.txHash}` },
  });
}, 120_000);
