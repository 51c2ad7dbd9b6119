import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OrderCreation } from '@cowprotocol/sdk-order-book';
import { OrderBookApi, OrderBookApiError } from '@cowprotocol/sdk-order-book';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { sqliteStore } from 'intentbook/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, SEPOLIA, signCancellation, signOrder } from '../support/orders.ts';

const folder = mkdtempSync(join(tmpdir(), 'intentbook-client-'));
afterAll(() => rmSync(folder, { recursive: true }));

const inTenMinutes = () => Math.floor(Date.now() / 1000) + 600;
const MISSING = `0x${'00'.repeat(56)}`;

describe.each([
  ['memory', memoryStore],
  ['sqlite', () => sqliteStore({ path: join(folder, 'book.sqlite') })],
])('the OrderBookApi of @cowprotocol/sdk-order-book, unmodified, over %s', (_, store) => {
  const book = createOrderBook({ chainId: SEPOLIA, store: store() });
  const server = createServer(nodeHandler(book));
  const trader = account(11);
  let api: OrderBookApi;

  beforeAll(async () => {
    await book.start();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    api = new OrderBookApi({
      chainId: SEPOLIA,
      baseUrls: { [SEPOLIA]: `http://127.0.0.1:${port}` } as never, // the type asks for a URL of every chain
      // Its own pace is meant for a server that is shared with the world.
      limiterOpts: { tokensPerInterval: 1000, interval: 'second' },
      backoffOpts: { numOfAttempts: 1 },
    });
  });
  afterAll(async () => {
    server.close();
    server.closeAllConnections();
    await book.close();
  });

  async function send(order: object): Promise<string> {
    return api.sendOrder(order as OrderCreation); // its enumerations are nominal
  }

  test('sendOrder answers the UID, getOrder the order with the total fee that the client adds up', async () => {
    const uid = await send(await signOrder(trader, { validTo: inTenMinutes() }));
    expect(uid).toMatch(/^0x[0-9a-f]{112}$/);
    const order = await api.getOrder(uid);
    expect(order).toMatchObject({ uid, status: 'open', owner: trader.address.toLowerCase(), totalFee: '0' });
  });

  test('getOrders lists the orders of an owner, of either ECDSA scheme', async () => {
    const uid = await send(await signOrder(account(12), { validTo: inTenMinutes() }, { scheme: 'ethsign' }));
    const orders = await api.getOrders({ owner: account(12).address });
    expect(orders.map((order) => [order.uid, order.signingScheme])).toEqual([[uid, 'ethsign']]);
  });

  test('sendSignedOrderCancellations cancels', async () => {
    const uid = await send(await signOrder(trader, { validTo: inTenMinutes(), sellAmount: '3' }));
    const orderUids = [uid];
    await api.sendSignedOrderCancellations({ orderUids, ...(await signCancellation(trader, { orderUids })) } as never); // likewise
    expect((await api.getOrder(uid)).status).toBe('cancelled');
  });

  test('getVersion answers text', async () => {
    expect(await api.getVersion()).toMatch(/^intentbook /);
  });

  test('a bad signature is an OrderBookApiError whose body has the type and what helps', async () => {
    const order = await signOrder(trader, { validTo: inTenMinutes() });
    const error = await send({ ...order, buyAmount: '1' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OrderBookApiError);
    const { response, body } = error as OrderBookApiError;
    expect(response.status).toBe(400);
    expect(body).toMatchObject({
      errorType: 'InvalidSignature',
      data: { expected: trader.address.toLowerCase(), recovered: expect.stringMatching(/^0x[0-9a-f]{40}$/) },
    });
  });

  test('a missing order is a 404, asked for once in each environment', async () => {
    await expect(api.getOrder(MISSING)).rejects.toMatchObject({ response: { status: 404 } });
    await expect(api.getOrderMultiEnv(MISSING)).rejects.toMatchObject({ response: { status: 404 } });
  });
});
