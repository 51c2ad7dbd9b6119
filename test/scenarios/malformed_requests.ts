import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { account, signOrder } from '../support/orders.ts';
import type { Scenario } from './support/scenario.ts';

const UID = `0x${'ab'.repeat(56)}`;

/** Method, path, body, and the expected status. */
type Case = readonly [method: string, path: string, body: unknown, status: number];

/**
 * Assertions of the original:
 * - malformed UIDs, addresses and hashes are 400: held
 * - unknown routes are 404: held
 * - invalid JSON is 400, missing and wrong fields are 422: held
 * - an empty body is 400 or 411: held, with 400
 * - the error of a wrong body is text that contains `deserialize` or `missing field`: not held, each error is JSON with
 *   the path of the member, as the specification defines, see decision 1.1
 * - an unknown order is 404 with `errorType` and `description`: held
 * - more than 128 UIDs and a list without JSON are 400: held
 * - simulations with a malformed UID or block are 400, of unknown orders 404, with wrong bodies 400 or 422: held
 * - the error of a simulation with malformed app data names it and has its text: held
 */
export const scenario: Scenario = {
  shows: 'malformed requests get the status of their error',
  isFast: true,
  async run(world) {
    const book = await world.serve();
    const [sellToken, buyToken] = [world.token('WETH'), world.token('USDC')];
    const order = await signOrder(account(5), { validTo: 2_000_000_000, sellToken, buyToken });
    const { sellAmount: _, ...incomplete } = order;
    const quote = { sellToken, buyToken, from: account(5).address, kind: 'sell', sellAmountBeforeFee: '1000000' };
    const cases: readonly Case[] = [
      ['GET', '/orders/0x1234', undefined, 400],
      ['GET', `/orders/${UID}`, undefined, 404],
      ['GET', '/orders/not-hex', undefined, 400],
      ['GET', `/orders/${UID}/status`, undefined, 404],
      ['GET', '/account/0x12/orders', undefined, 400],
      ['GET', '/transactions/0x12/orders', undefined, 400],
      ['GET', '/trades', undefined, 400],
      ['GET', `/trades?owner=0x12`, undefined, 400],
      ['GET', '/app_data/0x12', undefined, 400],
      ['GET', '/token/0x12/native_price', undefined, 400],
      ['GET', '/users/0x12/total_surplus', undefined, 400],
      ['GET', '/no/such/route', undefined, 404],
      ['GET', `/orders/${UID}/extra`, undefined, 404],
      ['GET', `/account/${account(5).address}/trades`, undefined, 404],
      ['GET', '/order', undefined, 404],
      ['GET', '/tokens', undefined, 404],
      ['POST', '/orders', {}, 422],
      ['POST', '/orders', '', 400],
      ['POST', '/orders/by_uids', 'no json', 400],
      ['POST', '/orders/by_uids', Array(129).fill(UID), 400],
      ['POST', '/orders', '{', 400],
      ['POST', '/orders', incomplete, 422],
      ['POST', '/orders', { ...order, kind: 'neither' }, 422],
      ['POST', '/orders', { ...order, sellAmount: -1 }, 422],
      ['POST', '/orders', { ...order, sellToken: '0x12' }, 422],
      ['POST', '/orders', { ...order, signature: '0x12' }, 400],
      ['POST', '/quote', '{', 400],
      ['POST', '/quote', { ...quote, kind: 'neither' }, 422],
      ['POST', '/quote', { ...quote, priceQuality: 'best' }, 422],
      ['POST', '/quote', { ...quote, from: 'me' }, 422],
      ['DELETE', '/orders', { orderUids: ['0x12'], signature: '0x', signingScheme: 'eip712' }, 422],
      ['PUT', '/app_data/0x12', { fullAppData: '{}' }, 400],
      ['PUT', '/app_data', {}, 422],
    ];
    for (const [method, path, body, status] of cases) {
      const reply = await book.send(method, `/api/v1${path}`, body);
      assert.equal(reply.status, status, `${method} ${path} ${JSON.stringify(body)}: ${JSON.stringify(reply.body)}`);
    }
    const simulation = '/debug/simulation';
    for (const [method, path, body, status] of [
      ['GET', `${simulation}/0x12`, undefined, 400],
      ['GET', `${simulation}/${UID}`, undefined, 404],
      ['GET', `${simulation}/${UID}?block_number=x`, undefined, 400],
      ['POST', simulation, '{', 400],
      ['POST', simulation, {}, 422],
      ['POST', simulation, { ...order, owner: 'me' }, 422],
      ['POST', simulation, { ...order, owner: account(5).address, sellAmount: '0' }, 422],
    ] as const) {
      const reply = await book.operator(method, path, body);
      assert.equal(reply.status, status, `${method} ${path} ${JSON.stringify(body)}: ${JSON.stringify(reply.body)}`);
    }
    for (const path of ['/api/v3/orders', '/v1/orders', '/api/v2/orders']) {
      assert.equal((await book.send('GET', path)).status, 404, path);
    }
    const appData = 'not valid json';
    const malformed = await book.operator('POST', simulation, { ...order, owner: account(5).address, appData });
    assert.equal(malformed.status, 400, JSON.stringify(malformed.body));
    assert.match(malformed.body.description, /app data.*not valid json/i);
    const missing = await book.post('/orders', incomplete);
    assert.match(JSON.stringify(missing.body), /sellAmount/);
    assert.equal(await statusOfBareRequest(book.url), 400);
  },
};

/** Sends `POST /api/v1/orders` with neither a length nor a body. */
async function statusOfBareRequest(url: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    'POST /api/v1/orders HTTP/1.1\r\nHost: book\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n',
  );
  let text = '';
  for await (const chunk of socket) text += chunk;
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
}
