import { once } from 'node:events';
import { connect } from 'node:net';
import { memoryStore } from 'intentbook/memory';
import type { RunningServer } from 'intentbook/server';
import { serve } from 'intentbook/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: RunningServer;
beforeAll(async () => {
  server = await serve({ port: 0, accounts: 'off', books: [{ chain: 'base', store: memoryStore() }] });
});
afterAll(() => server.close());

const ACCOUNT = `0x${'ab'.repeat(20)}`;
const send = (method: string, path: string, init: RequestInit = {}) => fetch(server.url + path, { method, ...init });

const headers = { 'content-type': 'application/json' };
const RESPONSES: [status: number, method: string, path: string, init: RequestInit][] = [
  [200, 'GET', '/', {}],
  [200, 'GET', '/', { headers: { accept: 'text/html' } }],
  [200, 'GET', '/ready', {}],
  [200, 'GET', '/live', {}],
  [200, 'GET', '/openapi.json', {}],
  [200, 'GET', '/docs', {}],
  [200, 'GET', '/docs/swagger-ui.css', {}],
  [200, 'GET', '/explorer/app.js', {}],
  [200, 'HEAD', '/explorer/app.js', {}],
  [404, 'GET', '/explorer/missing.js', {}],
  [405, 'POST', '/explorer/app.js', {}],
  [405, 'POST', '/ready', {}],
  [404, 'GET', '/nowhere', {}],
  [404, 'GET', '/base/api/v1/nowhere', {}],
  [405, 'PUT', '/base/api/v1/orders', {}],
  [400, 'POST', '/base/api/v1/orders', { headers, body: '{' }],
  [413, 'POST', '/base/api/v1/orders/by_uids', { headers, body: ' '.repeat(1_100_000) }],
  [503, 'GET', `/accounts/${ACCOUNT}/notifications`, {}],
];

describe('CORS headers', () => {
  test.each(RESPONSES)('are in the response %i to %s %s', async (status, method, path, init) => {
    const response = await send(method, path, init);
    await response.arrayBuffer();
    expect(response.status).toBe(status);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-headers')).toContain('Cache-Control');
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  });

  test.each(RESPONSES)('of OPTIONS do not depend on the path (%i, %s %s)', async (_, _method, path) => {
    const response = await send('OPTIONS', path);
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(response.headers.get('access-control-allow-headers')).toContain('X-AppId');
  });

  test.each([
    ['noise', 'garbage\r\n\r\n'],
    ['headers that are too large', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['a missing Host header', 'GET / HTTP/1.1\r\n\r\n'],
  ])('are in the rejection of %s', async (_, bytes) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
    });
    socket.write(bytes);
    await once(socket, 'close');
    expect(received.toLowerCase()).toContain('access-control-allow-origin: *');
    expect(received.toLowerCase()).toMatch(/access-control-allow-headers: .*cache-control/);
  });
});

describe('server without an account store', () => {
  test.each([
    ['GET', `/accounts/${ACCOUNT}/notifications`],
    ['GET', `/accounts/${ACCOUNT}/notifications/stream`],
    ['POST', `/accounts/${ACCOUNT}/subscriptions`],
    ['GET', `/affiliate/${ACCOUNT}`],
    ['GET', '/ref-codes/ABCDE'],
    ['GET', `/1/accounts/${ACCOUNT}/balances`],
    ['GET', `/1/tokens/${ACCOUNT}/usdPrice`],
    ['GET', `/1/tokens/${ACCOUNT}/details`],
    ['GET', `/1/tokens/${ACCOUNT}/topHolders`],
    ['POST', '/1/tokens/details'],
    ['POST', '/1/yield/pools'],
    ['GET', '/1/yield/pools-average-apr'],
    ['POST', '/1/simulation/simulateBundle'],
    ['GET', `/1/markets/${ACCOUNT}-${ACCOUNT}/slippageTolerance`],
    ['GET', `/1/markets/${ACCOUNT}-${ACCOUNT}/volatilityDetails`],
    ['GET', `/1/address/${ACCOUNT}/balances`],
    ['GET', '/about'],
  ])('responds 503 with a message to %s %s', async (method, path) => {
    const response = await send(method, path);
    expect([response.status, await response.json()]).toEqual([
      503,
      { message: 'Accounts are not enabled on this server' },
    ]);
  });
});

describe('account path with a malformed chain id', () => {
  test.each([
    `/abc/accounts/${ACCOUNT}/balances`,
    `/0/accounts/${ACCOUNT}/balances`,
    `/1.5/accounts/${ACCOUNT}/balances/sse`,
    `/0x1/tokens/${ACCOUNT}/usdPrice`,
    `/0x1/markets/${ACCOUNT}-${ACCOUNT}/slippageTolerance`,
  ])('%s is rejected with 400 and a message', async (path) => {
    const withAccounts = await serve({ port: 0, accounts: ':memory:', db: ':memory:' });
    const response = await fetch(withAccounts.url + path);
    expect([response.status, await response.json()]).toEqual([400, { message: expect.stringContaining('chainId') }]);
    await withAccounts.close();
  });
});
