import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import type { OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SEPOLIA } from '../../support/orders.ts';

const ORIGIN = 'https://app.example.org';

let book: OrderBook;
beforeEach(async () => {
  book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  await book.start();
});
afterEach(() => book.close());

/** The CORS headers that a host sets, as @fastify/cors and the package cors do. */
const HOST_CORS = { 'access-control-allow-origin': ORIGIN, 'access-control-allow-credentials': 'true' };

function expectHostCors(response: Response): void {
  expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect(response.headers.get('access-control-allow-credentials')).toBe('true');
}

async function fastifyApp() {
  const app = fastify();
  const seen: string[] = [];
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({ ...HOST_CORS, 'x-ratelimit-limit': '100' });
  });
  app.addHook('onSend', async (request, reply, payload) => {
    seen.push(`${request.method} ${reply.statusCode}`);
    reply.header('x-sent', 'yes');
    return payload;
  });
  await app.register(fastifyPlugin, { prefix: '/sepolia', book });
  const url = await app.listen({ port: 0 });
  return { app, seen, url: `${url}/sepolia` };
}

describe('fastifyPlugin', () => {
  test('sends responses with the headers and hooks of the application', async () => {
    const { app, seen, url } = await fastifyApp();
    for (const [path, status] of [
      ['/api/v1/version', 200],
      ['/api/v1/nowhere', 404],
    ] as const) {
      const response = await fetch(url + path);
      expect(response.status).toBe(status);
      expectHostCors(response);
      expect(response.headers.get('x-ratelimit-limit')).toBe('100');
      expect(response.headers.get('x-sent')).toBe('yes');
    }
    const rejected = await fetch(`${url}/api/v1/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expectHostCors(rejected);
    expect(seen.slice(0, 2)).toEqual(['GET 200', 'GET 404']);
    await app.close();
  });

  test('sends an event stream with the headers of the application, and ends it when the application closes', async () => {
    const { app, url } = await fastifyApp();
    const response = await fetch(`${url}/api/v1/orders/stream`);
    expectHostCors(response);
    expect(response.headers.get('x-ratelimit-limit')).toBe('100');
    const body = response.text();
    await app.close();
    expect(await body).toContain('id: ');
    // The book is the host's, and closes after the application.
    expect(await book.ready()).toMatchObject({ ready: true });
  });
});

describe('CORS headers of a host', () => {
  test('replace those of the interface in Express', async () => {
    const app = express();
    app.use((_request, response, next) => {
      response.set(HOST_CORS);
      next();
    });
    app.use('/sepolia', expressRouter(book));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a listening server has an address
    const response = await fetch(`http://127.0.0.1:${port}/sepolia/api/v1/version`);
    expectHostCors(response);
    expect(response.headers.get('access-control-expose-headers')).toBeNull();
    server.close();
  });

  test('are those of the interface if the host sets none', async () => {
    const server = createServer(nodeHandler(book)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a listening server has an address
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/version`);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    server.close();
  });
});
