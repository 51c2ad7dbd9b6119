import { OrderBookApi, OrderKind, TradingSdk } from '@cowprotocol/cow-sdk';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import { createPublicClient, createWalletClient, custom } from 'viem';
import { sepolia } from 'viem/chains';

// A page of a front end: the published SDK, a wallet that is injected, and a button for each step.
const { url, weth, usdc } = window.settings;
const chainId = sepolia.id;
const transport = custom(window.ethereum);
const element = (id) => document.getElementById(id);
const orderBookApi = new OrderBookApi({ chainId, baseUrls: { [chainId]: url } });
let sdk;
let account;

async function connect() {
  [account] = await window.ethereum.request({ method: 'eth_requestAccounts' });
  const provider = createPublicClient({ chain: sepolia, transport });
  const walletClient = createWalletClient({ chain: sepolia, transport, account });
  const adapter = new ViemAdapter({ provider, walletClient });
  sdk = new TradingSdk({ chainId, appCode: 'wallet-test' }, { orderBookApi }, adapter);
  return account;
}

const pair = { sellToken: weth, sellTokenDecimals: 18, buyToken: usdc, buyTokenDecimals: 18, kind: OrderKind.SELL };
const ETHER = 10n ** 18n;

async function swap() {
  await sdk.approveCowProtocol({ tokenAddress: weth, amount: 10n * ETHER, chainId });
  const { postSwapOrderFromQuote } = await sdk.getQuote({ ...pair, amount: String(ETHER) });
  return (await postSwapOrderFromQuote()).orderId;
}

async function limit() {
  const terms = { ...pair, sellAmount: String(ETHER), buyAmount: String(9_000n * ETHER) };
  return (await sdk.postLimitOrder(terms)).orderId;
}

const cancel = async () => String(await sdk.offChainCancelOrder({ orderUid: element('limit-result').textContent }));

async function list() {
  const orders = await orderBookApi.getOrders({ owner: account });
  return orders.map(({ uid, status }) => `${uid} ${status}`).join('\n');
}

for (const [id, run] of Object.entries({ connect, swap, limit, cancel, list })) {
  element(id).addEventListener('click', async () => {
    element(`${id}-result`).textContent = await run().catch((error) => `failed: ${error}`);
  });
}
