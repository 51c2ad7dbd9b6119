import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { cancellationTypedData, signingDomain } from 'intentbook/sign';
import { privateKeyToAccount } from 'viem/accounts';
import { startBot } from './bot.js';

const CHAIN_ID = 11_155_111;
const [WETH, COW] = ['0xfff9976782d46cc05630d1f6ebab18b2324d6b14', '0x0625afb445c3b6b7b929342a04a22599fd5dbb59'];
const wallet = privateKeyToAccount(`0x${'5a'.repeat(32)}`);

/** Starts another book, in place of the production order book. */
async function startOther() {
  const book = createOrderBook({ chainId: CHAIN_ID, store: memoryStore(), profile: 'production' });
  await book.start();
  const server = createServer(nodeHandler(createApi(book)));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await book.close();
  };
  return { book, close, url: `http://127.0.0.1:${server.address().port}` };
}

/** Fills an order of the other book, as an event of its settlement contract. */
async function fill({ book }, uid) {
  const { owner, sellToken, buyToken, sellAmount, buyAmount } = await book.orders.get(uid);
  const amounts = { sellAmount: BigInt(sellAmount), buyAmount: BigInt(buyAmount), feeAmount: 0n };
  const through = { number: 7, hash: `0x${'b7'.repeat(32)}` };
  const position = { blockNumber: 7, blockHash: through.hash, logIndex: 0, transactionHash: `0x${'7a'.repeat(32)}` };
  const trade = { event: 'Trade', owner, sellToken, buyToken, ...amounts, orderUid: uid };
  await book.chain.apply({ through, events: [{ ...trade, ...position, timestamp: null }] });
}

async function until(condition) {
  while (!(await condition())) await setTimeout(50);
}

test('buys back when a webhook reports a fill, and again after a restart', async () => {
  const other = await startOther();
  const folder = await mkdtemp(join(tmpdir(), 'trading-bot-'));
  const placed = [];
  const options = {
    chainId: CHAIN_ID,
    folder,
    url: other.url,
    wallet,
    sell: { sellToken: WETH, buyToken: COW, sellAmount: 1000n, buyAmount: 5000n },
    buyBack: { sellToken: COW, buyToken: WETH, sellAmount: 4900n, buyAmount: 1000n },
    onOrder: (uid) => placed.push(uid),
  };
  const bot = await startBot(options);
  await until(() => other.book.orders.get(placed[0]));
  await fill(other, placed[0]);
  await bot.book.upstream.refresh(placed[0]);
  await until(() => placed.length === 2);
  const next = await bot.book.orders.get(placed[1]);
  assert.deepEqual([next.status, next.sellToken, next.sellAmount], ['open', COW, '4900']);

  // The order has ended without a fill while the bot was not running.
  await until(() => other.book.orders.get(placed[1]));
  const data = cancellationTypedData(signingDomain(bot.book), [placed[1]]);
  const signature = await wallet.signTypedData(data);
  await other.book.orders.cancel({ orderUids: [placed[1]], signature, signingScheme: 'eip712' });
  await bot.book.upstream.refresh(placed[1]);
  await until(async () => (await bot.book.orders.get(placed[1])).status === 'cancelled');
  await bot.close();
  const restarted = await startBot(options);
  assert.equal((await restarted.book.orders.get(placed[2])).sellToken, COW);
  assert.equal(placed.length, 3);
  await restarted.close();
  await other.close();
});
