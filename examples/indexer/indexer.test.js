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
import { startIndexer } from './indexer.js';

const CHAIN_ID = 11_155_111;
const OWNER = '0x00000000000000000000000000000000000a11ce';

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

const order = (sellAmount) => ({
  sellToken: '0xfff9976782d46cc05630d1f6ebab18b2324d6b14',
  buyToken: '0x0625afb445c3b6b7b929342a04a22599fd5dbb59',
  sellAmount,
  buyAmount: '1',
  validTo: Math.floor(Date.now() / 1000) + 3600,
  feeAmount: '0',
  kind: 'sell',
  partiallyFillable: false,
  signingScheme: 'presign',
  signature: '0x',
  from: OWNER,
  appData: '{}',
});

async function until(condition) {
  while (!condition()) await setTimeout(50);
}

test('stores the history of an owner, and an order that is posted later', async () => {
  const other = await startOther();
  const path = join(await mkdtemp(join(tmpdir(), 'indexer-')), 'orders.sqlite');
  const changes = [];
  await other.book.orders.submit(order('1000'));
  const onChange = ({ change, order: { sellAmount } }) => changes.push(`${change} ${sellAmount}`);
  const book = await startIndexer({ chainId: CHAIN_ID, path, url: other.url, owners: [OWNER], onChange });
  await until(() => changes.includes('created 1000'));
  await other.book.orders.submit(order('2000'));
  await until(() => changes.includes('created 2000'));
  assert.deepEqual(changes, ['created 1000', 'created 2000']);
  await book.close();
  await other.close();
});
