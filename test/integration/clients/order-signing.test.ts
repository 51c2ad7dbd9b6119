import { setGlobalAdapter } from '@cowprotocol/cow-sdk';
import { OrderBookApi, OrderKind } from '@cowprotocol/sdk-order-book';
import { OrderSigningUtils } from '@cowprotocol/sdk-order-signing';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import type { RunningServer } from 'intentbook/server';
import { serve } from 'intentbook/server';
import { createPublicClient, http } from 'viem';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, COW, SEPOLIA, WETH } from '../../support/orders.ts';

const OWNER = account(77);

/** Orders and cancellations that the published package signs. */
describe('sdk-order-signing', () => {
  let server: RunningServer;
  let api: OrderBookApi;

  beforeAll(async () => {
    server = await serve({ port: 0, db: ':memory:' });
    const baseUrls = { [SEPOLIA]: server.url } as never; // the type requires a URL for every chain
    api = new OrderBookApi({ chainId: SEPOLIA, baseUrls, backoffOpts: { numOfAttempts: 1 } });
    // The adapter computes locally; no request reaches a node.
    const provider = createPublicClient({ chain: sepolia, transport: http('http://127.0.0.1:9') });
    setGlobalAdapter(new ViemAdapter({ provider, signer: OWNER } as never) as never); // of another copy of the types
  });
  afterAll(() => server.close());

  let placed = 0;
  const createOrder = () => ({
    sellToken: WETH,
    buyToken: COW,
    receiver: OWNER.address,
    sellAmount: String(1_000_000 + placed++),
    buyAmount: '1',
    validTo: Math.floor(Date.now() / 1000) + 3600,
    appData: '0xb48d38f93eaa084033fc5970bf96e559c33c4cdc07d889ab00b4d63f9590739d',
    feeAmount: '0',
    kind: OrderKind.SELL,
    partiallyFillable: false,
  });

  async function place(): Promise<string> {
    const order = createOrder();
    const signed = await OrderSigningUtils.signOrder(order as never, SEPOLIA, OWNER as never);
    const uid = await api.sendOrder({ ...order, ...signed, from: OWNER.address } as never);
    const generated = await OrderSigningUtils.generateOrderId(SEPOLIA, order as never, { owner: OWNER.address });
    expect(uid).toBe(generated.orderId);
    return uid;
  }

  test('an order that the package signs is accepted under the UID that it generates', async () => {
    const uid = await place();
    expect(await api.getOrder(uid)).toMatchObject({ uid, owner: OWNER.address.toLowerCase(), status: 'open' });
  });

  test('a cancellation of several orders that the package signs cancels them', async () => {
    const orderUids = [await place(), await place()];
    const signed = await OrderSigningUtils.signOrderCancellations(orderUids, SEPOLIA, OWNER as never);
    await api.sendSignedOrderCancellations({ ...signed, orderUids } as never);
    for (const uid of orderUids) expect(await api.getOrder(uid)).toMatchObject({ status: 'cancelled' });
  });

  test('a cancellation of one order that the package signs cancels it', async () => {
    const uid = await place();
    const signed = await OrderSigningUtils.signOrderCancellation(uid, SEPOLIA, OWNER as never);
    const response = await fetch(`${server.url}/api/v1/orders/${uid}`, {
      method: 'DELETE',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(signed),
    });
    expect(response.status).toBe(200);
    expect(await api.getOrder(uid)).toMatchObject({ status: 'cancelled' });
  });
});
