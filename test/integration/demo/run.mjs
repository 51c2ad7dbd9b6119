// `npm run demo`: a server on a fresh database, traded against with the order-book client that is published for it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { OrderKind, TradingSdk } from '@cowprotocol/cow-sdk';
import { OrderBookApi, OrderBookApiError } from '@cowprotocol/sdk-order-book';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import { createPublicClient, custom, formatUnits, hashTypedData, keccak256, toHex, zeroHash } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';

const SEPOLIA = 11155111;
const DOMAIN = {
  name: 'Gnosis Protocol',
  version: 'v2',
  chainId: SEPOLIA,
  verifyingContract: '0x9008D19f58AAbD9eD0D60971565AA8510560ab41',
};
const ORDER_TYPE = [
  { name: 'sellToken', type: 'address' },
  { name: 'buyToken', type: 'address' },
  { name: 'receiver', type: 'address' },
  { name: 'sellAmount', type: 'uint256' },
  { name: 'buyAmount', type: 'uint256' },
  { name: 'validTo', type: 'uint32' },
  { name: 'appData', type: 'bytes32' },
  { name: 'feeAmount', type: 'uint256' },
  { name: 'kind', type: 'string' },
  { name: 'partiallyFillable', type: 'bool' },
  { name: 'sellTokenBalance', type: 'string' },
  { name: 'buyTokenBalance', type: 'string' },
];
/** Both have 18 decimals. */
const TOKENS = {
  WETH: '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14',
  COW: '0x0625aFB445C3B6B7B929342a04A22599fd5dBB59',
};
const APP_DATA = '{}';

const tty = process.stdout.isTTY === true;
const paint = (style, text) => (tty ? styleText(style, text) : text);
const heading = (text) => console.log(`\n${paint('bold', text)}`);
const line = (label, text) => console.log(`  ${label.padEnd(13)} ${text}`);
const short = (hex) => `${hex.slice(0, 10)}…${hex.slice(-8)}`;

/** Starts the built server and resolves with its URL once it says that it is ready. */
async function startServer(database, keep) {
  const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));
  const args = [cli, 'serve', '--port', '0', '--chain', 'sepolia', '--db', database];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: keep });
  const url = await new Promise((resolve, reject) => {
    let output = '';
    server.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      const found = /address\s+(http:\S+)/.exec(output);
      if (found !== null && output.includes('chain')) resolve(found[1]);
    });
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`the server ended with ${code} before it was ready`)));
  });
  return { server, url };
}

/** Stops the server as an operator would, and waits until it has closed its database. */
async function stopServer(server) {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGTERM');
  assert.equal(await ended, 0, 'the server must exit with 0 when it is told to stop');
}

/** Signs an order as a wallet does: the wire carries the app-data document, the signature covers its hash. */
async function signOrder(trader, scheme, choice) {
  const order = {
    sellToken: TOKENS.WETH,
    buyToken: TOKENS.COW,
    receiver: trader.address,
    validTo: Math.floor(Date.now() / 1000) + 20 * 60,
    appData: APP_DATA,
    feeAmount: '0',
    kind: 'sell',
    partiallyFillable: false,
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'erc20',
    ...choice,
  };
  const message = {
    ...order,
    sellAmount: BigInt(order.sellAmount),
    buyAmount: BigInt(order.buyAmount),
    feeAmount: 0n,
    appData: keccak256(toHex(APP_DATA)),
  };
  const signature = await signTyped(trader, scheme, { Order: ORDER_TYPE }, 'Order', message);
  return { ...order, from: trader.address, signingScheme: scheme, signature };
}

/** eip712 signs the typed data itself; ethsign signs its hash as a message, for wallets that know no typed data. */
function signTyped(trader, scheme, types, primaryType, message) {
  const typed = { domain: DOMAIN, types, primaryType, message };
  if (scheme === 'eip712') return trader.signTypedData(typed);
  return trader.signMessage({ message: { raw: hashTypedData(typed) } });
}

async function signCancellation(trader, orderUids) {
  const types = { OrderCancellations: [{ name: 'orderUids', type: 'bytes[]' }] };
  const signature = await signTyped(trader, 'eip712', types, 'OrderCancellations', { orderUids });
  return { orderUids, signature, signingScheme: 'eip712' };
}

function describe(order) {
  const minutes = Math.round((order.validTo * 1000 - Date.parse(order.creationDate)) / 60_000);
  const name = (token) => Object.keys(TOKENS).find((key) => TOKENS[key].toLowerCase() === token.toLowerCase());
  const sold = `${formatUnits(BigInt(order.sellAmount), 18)} ${name(order.sellToken)}`;
  const bought = `${formatUnits(BigInt(order.buyAmount), 18)} ${name(order.buyToken)}`;
  const bargain = order.kind === 'sell' ? `sell ${sold} for at least ${bought}` : `buy ${bought} for at most ${sold}`;
  return { status: order.status.padEnd(9), bargain, validity: `valid for ${minutes} minutes` };
}

function showRow(order) {
  const { status, bargain } = describe(order);
  const style = order.status === 'open' ? 'green' : 'yellow';
  console.log(`  ${short(order.uid)}  ${paint(style, status)}  ${bargain}`);
}

async function trade(url) {
  const api = new OrderBookApi({ chainId: SEPOLIA, baseUrls: { [SEPOLIA]: url }, backoffOpts: { numOfAttempts: 1 } });
  const trader = privateKeyToAccount(generatePrivateKey());

  heading('The server');
  const version = await api.getVersion();
  assert.match(version, /chain 11155111/);
  line('address', url);
  line('says', version);
  line('trader', `${trader.address}, a key made for this demo`);
  line('client', '@cowprotocol/sdk-order-book, as it is published');

  heading('Two orders, one of each ECDSA signing scheme');
  const choices = [
    ['eip712', { kind: 'sell', sellAmount: '1500000000000000000', buyAmount: '12000000000000000000000' }],
    ['ethsign', { kind: 'buy', sellAmount: '260000000000000000', buyAmount: '2000000000000000000000' }],
  ];
  const uids = [];
  for (const [scheme, choice] of choices) {
    const uid = await api.sendOrder(await signOrder(trader, scheme, choice));
    assert.match(uid, /^0x[0-9a-f]{112}$/);
    uids.push(uid);
    line(scheme, `accepted as ${short(uid)}`);
  }
  line('UID', 'the digest of the order, its owner and the end of its validity: 56 bytes in hex');
  line(
    'amounts',
    'travel in atoms, the smallest unit of a token: 1.5 WETH is 1500000000000000000; shown in whole tokens here',
  );

  heading('Read one by one');
  for (const [i, [scheme, choice]] of choices.entries()) {
    const order = await api.getOrder(uids[i]);
    assert.equal(order.status, 'open');
    assert.equal(order.signingScheme, scheme);
    assert.equal(order.owner, trader.address.toLowerCase());
    assert.equal(order.sellAmount, choice.sellAmount);
    assert.equal(order.buyAmount, choice.buyAmount);
    assert.equal(order.fullAppData, APP_DATA);
    const { bargain, validity } = describe(order);
    line(short(order.uid), '');
    line('  status', order.status);
    line('  wants to', bargain);
    line('  validity', validity);
    line('  signed', `by ${scheme}, fee ${order.feeAmount}, app data ${order.fullAppData}`);
  }

  heading('Read in a batch: three UIDs asked for, one of them of no order');
  const unknown = `${zeroHash}${trader.address.slice(2).toLowerCase()}ffffffff`;
  const response = await fetch(`${url}/api/v1/orders/by_uids`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([...uids, unknown]),
  });
  assert.equal(response.status, 200);
  const batch = (await response.json()).map((entry) => entry.order);
  assert.deepEqual(new Set(batch.map((order) => order.uid)), new Set(uids));
  for (const order of batch) showRow(order);

  heading('Cancel the first, by a signature of its owner');
  await api.sendSignedOrderCancellations(await signCancellation(trader, [uids[0]]));
  const cancelled = await api.getOrder(uids[0]);
  assert.equal(cancelled.status, 'cancelled');
  assert.equal(cancelled.invalidated, true);
  line(short(uids[0]), paint('yellow', cancelled.status));

  heading('All orders of the trader, newest first');
  const listed = await api.getOrders({ owner: trader.address });
  assert.deepEqual(
    new Set(listed.map(({ uid, status }) => `${uid} ${status}`)),
    new Set([`${uids[0]} cancelled`, `${uids[1]} open`]),
  );
  for (const order of listed) showRow(order);

  heading('What a bad signature gets');
  const order = await signOrder(trader, 'eip712', choices[0][1]);
  const rejection = await api.sendOrder({ ...order, buyAmount: '1' }).catch((error) => error);
  assert(rejection instanceof OrderBookApiError, 'an order that was changed after it was signed must be rejected');
  const { errorType, description, data } = rejection.body;
  assert.equal(rejection.response.status, 400);
  assert.equal(errorType, 'InvalidSignature');
  assert.equal(data.expected, trader.address.toLowerCase());
  line('tried', 'the same sale, its buy amount changed to 1 atom after signing');
  line('answer', `${rejection.response.status} ${paint('red', errorType)}`);
  line('because', description);
  line('owner', data.expected);
  line('signer', `${data.recovered}, as recovered from the changed order`);
}

/** From a quote to a signed order, by the trading SDK that wallets and front ends use. */
async function swap(url) {
  const api = new OrderBookApi({ chainId: SEPOLIA, baseUrls: { [SEPOLIA]: url }, backoffOpts: { numOfAttempts: 1 } });
  const trader = privateKeyToAccount(generatePrivateKey());
  // The SDK wants a node to turn to. It has no question for it here.
  const node = custom({ request: ({ method }) => Promise.reject(new Error(`the SDK has asked a node for ${method}`)) });
  const provider = createPublicClient({ chain: sepolia, transport: node });
  const adapter = new ViemAdapter({ provider, signer: trader });
  const options = { chainId: SEPOLIA, appCode: 'intentbook demo', signer: trader };
  const sdk = new TradingSdk(options, { orderBookApi: api }, adapter);
  const tokens = { sellToken: TOKENS.WETH, sellTokenDecimals: 18, buyToken: TOKENS.COW, buyTokenDecimals: 18 };
  const amount = 1_500_000_000_000_000_000n;

  heading('Quote, sign, order: the trading SDK');
  line('client', '@cowprotocol/cow-sdk, as it is published; prices from the small table that the server has');
  const sale = { kind: OrderKind.SELL, ...tokens, amount: String(amount) };
  const { quoteResults } = await sdk.getQuote(sale);
  const { quote } = quoteResults.quoteResponse;
  assert.equal(BigInt(quote.sellAmount) + BigInt(quote.feeAmount), amount);
  line('quote', `${formatUnits(amount, 18)} WETH buy ${formatUnits(BigInt(quote.buyAmount), 18)} COW`);
  line('  fee', `${formatUnits(BigInt(quote.feeAmount), 18)} WETH, for ${quote.gasAmount} units of gas`);

  const { orderId } = await sdk.postSwapOrder(sale);
  const order = await api.getOrder(orderId);
  assert.equal(order.sellAmount, String(amount), 'what is sold must be what was asked about');
  assert.equal(order.quote.sellAmount, String(amount), 'the order must be linked to its quote');
  line('swap', `accepted as ${short(orderId)}`);
  line('  wants to', describe(order).bargain);
  const slippage = (1 - Number(order.buyAmount) / Number(quote.buyAmount)) * 100;
  line('  slippage', `${slippage.toFixed(2)} % of the quote, as the SDK suggests`);

  const limit = { kind: OrderKind.SELL, ...tokens, sellAmount: String(amount), buyAmount: '20000000000000000000000' };
  const limitOrder = await api.getOrder((await sdk.postLimitOrder(limit)).orderId);
  assert.equal(limitOrder.status, 'open');
  line('limit', `accepted as ${short(limitOrder.uid)}`);
  line('  wants to', describe(limitOrder).bargain);

  assert.equal(await sdk.offChainCancelOrder({ orderUid: orderId }), true);
  const cancelled = await api.getOrder(orderId);
  assert.equal(cancelled.status, 'cancelled');
  line('cancelled', `${short(orderId)}, by a signature that the SDK made`);
}

function explainKept(url, database, pid) {
  heading('The server is still running');
  line('address', url);
  line('try', `curl ${url}/api/v1/orders?limit=5`);
  line('stop', `kill ${pid}`);
  line('remove', `rm -r ${database}`);
}

async function demo() {
  const keep = process.argv.includes('--keep');
  const started = performance.now();
  const directory = await mkdtemp(join(tmpdir(), 'intentbook-demo-'));
  const { server, url } = await startServer(join(directory, 'orders.sqlite'), keep);
  try {
    await trade(url);
    await swap(url);
  } catch (error) {
    server.kill('SIGTERM');
    throw error;
  }
  if (keep) {
    explainKept(url, directory, server.pid);
    server.stdout.destroy();
    server.unref();
  } else {
    await stopServer(server);
    await rm(directory, { recursive: true });
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(
    `\n${paint('green', 'All went as expected')}, in ${seconds} s.${keep ? '' : ' Run it with "-- --keep" to leave the server running.'}`,
  );
}

demo().catch((error) => {
  console.error(`\n${paint('red', 'The demo failed')}: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
});
