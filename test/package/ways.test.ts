import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOrderBook } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { webhookChannel } from 'intentbook/channels';
import { nodeHandler } from 'intentbook/node-http';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proof, receiver, until } from '../integration/channels/channel-fixture.ts';
import { createCallCoverage } from '../support/call-coverage.ts';
import { blockOf, eventsIn, tradeOf } from '../support/chain-events.ts';
import { account, SEPOLIA, signOrder } from '../support/orders.ts';
import { ALICES } from '../unit/accounts/accounts-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'ways-'));
const book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path: join(folder, 'orders.sqlite') }) });
const accounts = createAccounts({
  books: [book],
  store: sqliteAccountStore({ path: join(folder, 'accounts.sqlite') }),
  channels: [webhookChannel({ allow: ['127.0.0.1/32'] })],
});
const server = createServer(nodeHandler(book));
let url = '';
const coverage = await createCallCoverage();
const target = await receiver();

beforeAll(async () => {
  await book.start();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`; // a listening server has an address
});

afterAll(async () => {
  coverage[Symbol.dispose]();
  server.closeAllConnections();
  server.close();
  await accounts.close();
  await book.close();
  await target[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

let salt = 0;

async function sign() {
  const validTo = Math.floor(Date.now() / 1000) + 1200 + ++salt;
  return JSON.stringify(await signOrder(account(1), { sellAmount: '1000', buyAmount: '400', validTo }));
}

async function post(path: string, body: string, status: number): Promise<unknown> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect(response.status).toBe(status);
  return response.json();
}

let blocks = 0;

/** Fills an order and waits for its webhook. */
async function fill(uid: string): Promise<void> {
  const order = await book.orders.get(uid);
  if (order === undefined) throw new Error('the order is missing');
  const through = blockOf(++blocks);
  const received = target.received.length;
  const trade = { ...tradeOf(order, 1000n, 400n), timestamp: Math.floor(Date.now() / 1000) };
  await book.chain.apply({ events: eventsIn(through, [trade]), through });
  await until(() => target.received.length > received);
}

/** Records a request several times and returns the shortest way: work at intervals may run meanwhile. */
async function recordOften(requests: readonly (() => Promise<unknown>)[]) {
  const ways = [];
  for (const request of requests) ways.push(await coverage.record(request));
  return ways.reduce((a, b) => (b.files.length < a.files.length ? b : a));
}

/** The numbers of source files through which a request of a warm book goes. */
const MAX_FILES = { 'POST /orders': 41, 'POST /orders/by_uids from the cache': 17, 'a trade to a webhook': 45 };

test('requests go through few files', async () => {
  const uids: string[] = [];
  const postOrder = async (body: string) => void uids.push((await post('/orders', body, 201)) as string); // the UID
  for (let i = 0; i < 3; i++) await postOrder(await sign());
  const bodies = await Promise.all(Array.from({ length: 5 }, sign));
  const posted = await recordOften(bodies.map((body) => () => postOrder(body)));

  const query = JSON.stringify(uids);
  for (let i = 0; i < 3; i++) await post('/orders/by_uids', query, 200);
  const read = await recordOften(Array.from({ length: 5 }, () => () => post('/orders/by_uids', query, 200)));

  await accounts.start();
  await accounts.subscriptions.create(ALICES, await proof('webhook', target.url, ['order_filled']));
  for (const uid of uids.slice(3)) await fill(uid);
  const notified = await recordOften(uids.slice(0, 3).map((uid) => () => fill(uid)));

  const ways = {
    'POST /orders': posted,
    'POST /orders/by_uids from the cache': read,
    'a trade to a webhook': notified,
  };
  for (const [name, { files, functions }] of Object.entries(ways)) {
    process.stdout.write(`${name}: ${files.length} files, ${functions} functions\n`);
    if (process.env['WAYS'] !== undefined) process.stdout.write(`${files.join('\n')}\n`);
  }
  for (const [name, max] of Object.entries(MAX_FILES)) {
    expect.soft(ways[name as keyof typeof ways].files.length, name).toBeLessThanOrEqual(max); // a name of the table
  }
});
