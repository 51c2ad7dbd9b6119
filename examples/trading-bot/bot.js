import { createHmac, timingSafeEqual } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createApi, createOrderBook } from 'intentbook';
import { composeApis, createAccountApi, createAccounts } from 'intentbook/accounts';
import { webhookChannel } from 'intentbook/channels';
import { createClient } from 'intentbook/client';
import { nodeHandler } from 'intentbook/node-http';
import { limitOrder, orderTypedData, signingDomain } from 'intentbook/sign';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { orderBookUpstream } from 'intentbook/upstream';
import { privateKeyToAccount } from 'viem/accounts';

const DAY = 86_400;

async function listen(handler) {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

/**
 * Starts the bot: it always has one order. `sell` and `buyBack` are its two orders, each `{ sellToken, buyToken,
 * sellAmount, buyAmount }` in atoms. `onOrder` is called with the UID of each order that it places.
 */
export async function startBot({ chainId, folder, wallet, sell, buyBack, onOrder, ...access }) {
  const store = sqliteStore({ path: `${folder}/orders.sqlite` });
  const upstream = orderBookUpstream(access);
  const book = createOrderBook({ chainId, store, profile: 'production', upstream, relay: 'queue' });
  const accounts = createAccounts({
    books: [book],
    store: sqliteAccountStore({ path: `${folder}/accounts.sqlite` }),
    channels: [webhookChannel({ allow: ['127.0.0.0/8'] })], // the receiver is in this process
    onFailure: console.error,
  });
  book.on('failure', (failure) => console.error(failure));
  await book.start();
  await accounts.start();
  const service = await listen(nodeHandler(composeApis(createAccountApi(accounts), createApi(book))));
  const client = createClient(service.url);

  async function place(terms) {
    const order = limitOrder({ ...terms, validTo: Math.floor(Date.now() / 1000) + DAY });
    const signature = await wallet.signTypedData(orderTypedData(signingDomain(book), order));
    onOrder(await client.submit({ ...order, from: wallet.address, signature, signingScheme: 'eip712' }));
  }

  /** Returns the newest order of the wallet with a status. */
  const newest = async (status) => (await book.orders.list({ owner: wallet.address, status, limit: 1 })).orders[0];

  /** Places the order that follows the newest filled one, unless an order is open. */
  async function placeNext() {
    if ((await newest('open')) !== undefined) return;
    const filled = await newest('fulfilled');
    await place(filled?.sellToken === sell.sellToken.toLowerCase() ? buyBack : sell);
  }

  let last = Promise.resolve();
  /** Runs `placeNext` after earlier calls: a message may arrive twice, and two messages at once. */
  function placeInTurn() {
    const placed = last.then(placeNext);
    last = placed.catch(() => {});
    return placed;
  }

  let secret = '';
  const receiver = await listen(async (request, response) => {
    const body = await text(request);
    const { type, challenge } = JSON.parse(body);
    if (type === 'subscription.challenge') return response.end(challenge);
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': given = '' } = request.headers;
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const signature = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    const isValid = given.length === signature.length && timingSafeEqual(Buffer.from(given), Buffer.from(signature));
    // A message that is not acknowledged is delivered again.
    const handled = isValid ? placeInTurn().then(() => 204) : Promise.resolve(401);
    response.writeHead(await handled.catch(() => 500)).end();
  });
  const user = client.account(wallet);
  const { id, secret: own } = await user.subscribe({
    channel: 'webhook',
    target: `${receiver.url}/ended`,
    types: ['order_filled', 'order_expired'],
  });
  secret = own;

  await placeInTurn();
  return {
    book,
    async close() {
      await user.unsubscribe(id);
      for (const { server } of [service, receiver]) server.close();
      await accounts.close();
      await book.close();
    },
  };
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';
  const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';
  await startBot({
    chainId: 1,
    folder: '.',
    url: 'https://api.cow.fi/mainnet',
    contact: 'https://example.org/contact',
    wallet: privateKeyToAccount(process.env.PRIVATE_KEY),
    sell: { sellToken: WETH, buyToken: USDC, sellAmount: 10n ** 17n, buyAmount: 420n * 10n ** 6n },
    buyBack: { sellToken: USDC, buyToken: WETH, sellAmount: 400n * 10n ** 6n, buyAmount: 10n ** 17n },
    onOrder: (uid) => console.log(`placed ${uid}`),
  });
}
