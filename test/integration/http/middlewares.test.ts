import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Api, OrderBook } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

type Middleware = (request: unknown, response: unknown, next: () => void) => void;
// The package has no types.
const compression = createRequire(import.meta.url)('compression') as () => Middleware;

let book: OrderBook;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  await book.start();
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await book.close();
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a listening server has an address
}

/** Holds back what is written until `flush`, as middlewares do that transform responses. */
const hold: Middleware = (_request, given, next) => {
  const response = given as ServerResponse & { flush(): void };
  const write = response.write.bind(response) as (chunk: unknown) => boolean;
  const held: unknown[] = [];
  response.write = (chunk: unknown) => held.push(chunk) > 0;
  response.flush = () => held.splice(0).forEach(write);
  next();
};

const HOSTS: Readonly<Record<string, (api: Api, middleware: Middleware) => RequestListener>> = {
  Express: (api, middleware) => express().use(middleware).use(expressRouter(api)),
  connect: (api, middleware) => (request, response) =>
    middleware(request, response, () => nodeHandler(api)(request, response)),
};
const CASES = Object.keys(HOSTS).flatMap((host) => [
  { host, name: 'compression', middleware: compression() },
  { host, name: 'a middleware that waits for flush', middleware: hold },
]);

describe.each(CASES)('$host behind $name', ({ host, middleware }) => {
  test('delivers the events of a stream at once', async () => {
    const url = await listen(HOSTS[host]?.(createApi(book), middleware) ?? (() => {}));
    const response = await fetch(`${url}/api/v1/orders/stream`, { headers: { 'accept-encoding': 'gzip' } });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const readUntil = async (part: string) => {
      while (!text.includes(part)) text += (await reader?.read())?.value ?? '';
    };
    await readUntil('id: ');
    const result = await book.orders.submit(
      await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 600 }),
    );
    expect(result.status).toBe('accepted');
    await readUntil('event: ');
    await reader?.cancel();
  });

  test('sends complete responses', async () => {
    const url = await listen(HOSTS[host]?.(createApi(book), middleware) ?? (() => {}));
    expect(await (await fetch(`${url}/api/v1/version`)).text()).toContain('.');
    expect((await fetch(`${url}/api/v1/orders`)).status).toBe(200);
  });
});

describe('host that has read the body of a request', () => {
  const post = (url: string, body: string) =>
    fetch(`${url}/api/v1/orders`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const READS: Readonly<Record<string, (request: IncomingMessage, text: string) => void>> = {
    nothing: () => {},
    'body as a value': (request, text) => Object.assign(request, { body: JSON.parse(text) }),
    'rawBody as bytes': (request, text) => Object.assign(request, { rawBody: Buffer.from(text) }),
    'rawBody as text': (request, text) => Object.assign(request, { rawBody: text }),
  };

  test.each(Object.keys(READS))('and kept %s on node:http', async (kept) => {
    const failures: unknown[] = [];
    book.on('failure', (failure) => failures.push(failure));
    const app = express();
    app.use(async (request, _response, next) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      READS[kept]?.(request, Buffer.concat(chunks).toString());
      next();
    });
    app.use(expressRouter(book));
    const url = await listen(app);
    const order = await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 600 });
    const response = await post(url, JSON.stringify(order));
    expect(response.status).toBe(kept === 'nothing' ? 500 : 201);
    const messages = failures.map((failure) => (failure as Error).message);
    expect(messages).toEqual(kept === 'nothing' ? [expect.stringContaining('a host read the body')] : []);
  });

  test.each(['used', 'locked'])('leaves a request that is %s, which is a failure of the host', async (state) => {
    const failures: unknown[] = [];
    book.on('failure', (failure) => failures.push(failure));
    const request = new Request('http://localhost/api/v1/orders', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    if (state === 'used') await request.json();
    else request.body?.getReader();
    const response = await fetchHandler(book)(request);
    expect([response.status, failures.length]).toEqual([500, 1]);
    expect(String(failures[0])).toMatch(state === 'used' ? 'a host read the body' : /locked/);
  });
});
