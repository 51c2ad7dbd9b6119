import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Hex } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { composeApis, createAccountApi, createAccounts } from 'intentbook/accounts';
import { createClient } from 'intentbook/client';
import { createExplorer } from 'intentbook/explorer';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { orderBookUpstream } from 'intentbook/upstream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blockOf, eventsIn, tradeOf } from '../../support/chain-events.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../../support/orders.ts';
import { startSecondBook } from '../../support/upstream/second-book.ts';

const alice = account(1);
const OWNER = alice.address.toLowerCase() as Hex;
const TOKEN = 'token-of-an-operator';
const closers: (() => Promise<unknown> | unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** A book in front of another one over HTTP, with everything that it serves, and without orders. */
async function start() {
  const other = await startSecondBook();
  const upstream = orderBookUpstream({ url: other.url, budget: { read: 1e6, write: 1e6, quote: 1e6 } });
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), upstream });
  const accounts = createAccounts({ books: [book], store: memoryAccountStore() });
  await book.start();
  await accounts.start();
  const explorer = createExplorer({ books: [{ book }] });
  const apis = composeApis(explorer, createAccountApi(accounts), createApi(book, { operatorToken: TOKEN }));
  const server = createServer(nodeHandler(apis));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(
    () => other.close(),
    () => book.close(),
    () => accounts.close(),
    () => server.closeAllConnections(),
  );
  return { other, book, accounts, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('an order that was posted at another book and is followed', () => {
  let world: Awaited<ReturnType<typeof start>>;
  let [filled, cancelled]: Hex[] = [];

  /** Posts an order to the other book. */
  async function post(sellAmount: string): Promise<Hex> {
    const order = await signOrder(alice, { validTo: Math.floor(Date.now() / 1000) + 3600, sellAmount });
    const result = await world.other.book.orders.submit(order as never);
    return (result as { uid: Hex }).uid;
  }

  const json = async (path: string) => {
    const response = await fetch(world.url + path, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect([path, response.status]).toEqual([path, 200]);
    return response.json();
  };

  beforeAll(async () => {
    world = await start();
    [filled, cancelled] = [await post('1000'), await post('2000')];
    await world.book.upstream?.follow({ owners: [OWNER] });
  });

  test('is stored', async () => {
    const list = async () => (await world.book.orders.list({ owner: OWNER, limit: 10 })).orders.length;
    await expect.poll(list, { timeout: 20_000 }).toBe(2);
  });

  test('is in the mirror of a client until it ends', async () => {
    const { other, book, url } = world;
    const client = createClient(url);
    const mirror = await client.mirror({ owner: OWNER });
    expect(mirror.orders.get(filled as Hex)).toMatchObject({ status: 'open' });
    const order = await other.book.orders.get(filled as Hex);
    const through = blockOf(7);
    const trade = tradeOf(order as never, 1000n, BigInt(order?.buyAmount ?? 0));
    await other.book.chain.apply({ through, events: eventsIn(through, [trade]) });
    const orderUids = [cancelled as Hex];
    await other.book.orders.cancel({ orderUids, ...(await signCancellation(alice, { orderUids })) });
    for (const uid of [filled, cancelled]) await book.upstream?.refresh(uid as Hex);
    await expect.poll(() => mirror.orders.size, { timeout: 20_000 }).toBe(0); // it has open orders only
    mirror.close();
  });

  test('notifies its owner of what happened after it was followed', async () => {
    const list = async () =>
      (await world.accounts.notifications.list(OWNER)).notifications.map(({ type }) => type).sort();
    await expect.poll(list, { timeout: 20_000 }).toEqual(['order_cancelled', 'order_filled']);
  });

  test('has no transaction of a cancellation that only the other book knows', async () => {
    const { notifications } = await world.accounts.notifications.list(OWNER);
    const transactions = notifications.map(({ type, metadata }) => [type, 'txHash' in metadata]);
    expect(Object.fromEntries(transactions)).toEqual({ order_cancelled: false, order_filled: true });
    const report = await json(`/restricted/api/v1/debug/order/${cancelled}`);
    const timestamp = expect.any(String);
    expect(report).toHaveProperty('events', [
      { label: 'created', timestamp },
      { label: 'cancelled', timestamp },
    ]);
  });

  test('is in the history of its owner, as JSON and as CSV, with its trade', async () => {
    expect(await json(`/accounts/${OWNER}/orders`)).toHaveLength(2);
    expect(await json(`/accounts/${OWNER}/trades`)).toMatchObject([{ trade: { orderUid: filled } }]);
    const csv = await (await fetch(`${world.url}/accounts/${OWNER}/orders?format=csv`)).text();
    expect(csv.split('\r\n').filter((line) => line.includes(filled as Hex))).toHaveLength(1);
  });

  test('is in the explorer', async () => {
    const page = await (await fetch(`${world.url}/explorer/`)).text();
    expect(page).toContain('<html');
    expect(await json(`/api/v1/orders/${filled}`)).toMatchObject({ status: 'fulfilled', executedSellAmount: '1000' });
    expect(await json(`/api/v1/orders/${filled}/upstream`)).toMatchObject({ uid: filled });
  });
});
