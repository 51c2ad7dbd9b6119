// `npm run demo`: the sandbox, traded against with the SDK that is published for the protocol: quote, sign, order,
// settlement, notification. With `-- --keep`, the sandbox stays running.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { OrderBookApi, OrderKind, TradingSdk } from '@cowprotocol/cow-sdk';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import { createPublicClient, formatUnits, http, parseUnits } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';

const tty = process.stdout.isTTY === true;
const paint = (style, text) => (tty ? styleText(style, text) : text);
const row = (label, text) => console.log(`  ${label.padEnd(14)} ${text}`);
const short = (hex) => `${hex.slice(0, 10)}…${hex.slice(-8)}`;

/** Prints the name of a step, runs it, and prints its duration. */
async function step(name, run) {
  const start = performance.now();
  console.log(`\n${paint('bold', name)}`);
  const result = await run();
  row('', paint('dim', `${Math.round(performance.now() - start)} ms`));
  return result;
}

/** Repeats a request until a condition holds. */
async function until(request, condition) {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const result = await request();
    if (condition(result)) return result;
    assert(performance.now() < deadline, 'the sandbox must respond within 30 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Starts the sandbox command. Resolves with the object that it prints. */
async function startSandbox(keep) {
  const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));
  const args = [cli, 'sandbox', '--port', '0', '--rpc-port', '0', '--json'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: keep });
  const sandbox = await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      if (output.includes('\n')) resolve(JSON.parse(output));
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the sandbox exited with code ${code} before it was ready`)));
  });
  return { child, sandbox };
}

async function stopSandbox(child) {
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  assert.equal(await exited, 0, 'the sandbox must exit with code 0');
}

async function trade(sandbox) {
  const { url, rpcUrl, chainId, accounts, tokens } = sandbox;
  const [{ address, privateKey }] = accounts;
  const account = privateKeyToAccount(privateKey);
  const [weth, usdc] = ['WETH', 'USDC'].map((symbol) => tokens.find((token) => token.symbol === symbol));
  const provider = createPublicClient({ chain: sepolia, transport: http(rpcUrl) });
  const orderBookApi = new OrderBookApi({ chainId, baseUrls: { [chainId]: url }, backoffOpts: { numOfAttempts: 1 } });
  const adapter = new ViemAdapter({ provider, signer: account });
  const sdk = new TradingSdk({ chainId, appCode: 'intentbook demo', signer: account }, { orderBookApi }, adapter);
  const units = (atoms, { decimals, symbol }) =>
    `${Number(Number(formatUnits(BigInt(atoms), decimals)).toPrecision(6))} ${symbol}`;

  row('trader', address);
  row('client', '@cowprotocol/cow-sdk, as it is published');

  const amount = String(parseUnits('1.5', weth.decimals));
  const { quoteResults, postSwapOrderFromQuote } = await step('Quote', async () => {
    const quoted = await sdk.getQuote({
      kind: OrderKind.SELL,
      sellToken: weth.address,
      sellTokenDecimals: weth.decimals,
      buyToken: usdc.address,
      buyTokenDecimals: usdc.decimals,
      amount,
    });
    const { quote } = quoted.quoteResults.quoteResponse;
    row('sell', units(amount, weth));
    row('buy', units(quote.buyAmount, usdc));
    row('network fee', units(quote.feeAmount, weth));
    return quoted;
  });

  const uid = await step('Sign and order', async () => {
    const { orderId } = await postSwapOrderFromQuote();
    const order = await orderBookApi.getOrder(orderId);
    row('UID', short(orderId));
    row('at least', units(order.buyAmount, usdc));
    return orderId;
  });

  await step('Settlement on chain', async () => {
    const order = await until(
      () => orderBookApi.getOrder(uid),
      ({ status }) => status === 'fulfilled',
    );
    const [{ txHash }] = await orderBookApi.getTrades({ orderUid: uid });
    const { status, blockNumber } = await provider.getTransactionReceipt({ hash: txHash });
    assert.equal(status, 'success');
    assert(BigInt(order.executedBuyAmount) >= BigInt(order.buyAmount), 'the order must receive its limit at least');
    row('transaction', `${short(txHash)}, block ${blockNumber}`);
    row('received', `${paint('green', units(order.executedBuyAmount, usdc))}`);
    const { quote } = quoteResults.quoteResponse;
    row('quoted', units(quote.buyAmount, usdc));
    const competition = await orderBookApi.getSolverCompetition(txHash);
    row('auction', `${competition.auctionId}, won by ${short(competition.solutions[0].solverAddress)}`);
  });

  await step('Notification', async () => {
    const list = await until(
      async () => (await fetch(`${url}/accounts/${address}/notifications`)).json(),
      (notifications) => notifications.some(({ type }) => type === 'order_filled'),
    );
    for (const { type, message } of list) row(type, message);
  });
  return uid;
}

async function demo() {
  const keep = process.argv.includes('--keep');
  const started = performance.now();
  const { child, sandbox } = await step('Sandbox', async () => {
    const running = await startSandbox(keep);
    row('order book', running.sandbox.url);
    row('JSON-RPC', running.sandbox.rpcUrl);
    return running;
  });
  const uid = await trade(sandbox).catch((error) => {
    child.kill('SIGTERM');
    throw error;
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (!keep) {
    await stopSandbox(child);
    console.log(`\n${paint('green', `Settled in ${seconds} s.`)} Next steps:`);
    row('explorer', 'npm run demo -- --keep, which leaves the sandbox running');
    row('own orders', 'node dist/cli.js sandbox, or "npx intentbook sandbox" in a project');
    row('in a program', 'docs/getting-started.md');
    return;
  }
  console.log(`\n${paint('green', `Settled in ${seconds} s.`)} The sandbox is still running:`);
  row('explorer', `${sandbox.explorerUrl}#/orders/${uid}`);
  row('order', `${sandbox.url}/api/v1/orders/${uid}`);
  row('API reference', sandbox.docsUrl);
  row('JSON-RPC', sandbox.rpcUrl);
  row('stop', `kill ${child.pid}`);
  child.stdout.destroy();
  child.unref();
}

demo().catch((error) => {
  console.error(`\n${paint('red', 'The demo failed')}: ${error instanceof Error ? error.stack : error}`);
  process.exitCode = 1;
});
