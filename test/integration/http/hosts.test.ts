import { EventEmitter, once } from 'node:events';
import { createServer, get, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import express from 'express';
import fastify from 'fastify';
import type { Api, ChainSource, CorsOption, OrderBook } from 'intentbook';
import { createApi, createOrderBook, OrderBookError } from 'intentbook';
import { composeApis } from 'intentbook/accounts';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { openApiPages } from 'intentbook/server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { until } from '../channels/channel-fixture.ts';

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

test.each(['', '/', '/sepolia', '/sepolia/'])(
  'fastifyPlugin below "%s" accepts an absolute request target, as proxies send',
  async (prefix) => {
    const app = fastify();
    await app.register(fastifyPlugin, { book, ...(prefix !== '' && { prefix }) });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const base = prefix.replace(/\/$/, '');
    const request = get(url, { path: `http://book.example${base}/api/v1/version?a=1` });
    const [response] = (await once(request, 'response')) as [IncomingMessage]; // the arguments of the event
    expect(response.statusCode).toBe(200);
    response.resume();
    await app.close();
  },
);

test('fastifyPlugin closes although a client has left before its stream began', { timeout: 20_000 }, async () => {
  const steps = new EventEmitter();
  const called = once(steps, 'called');
  let released = 0;
  const stream: AsyncIterator<string> = {
    next: () => new Promise(() => {}),
    return: async () => {
      released++;
      return { done: true, value: undefined };
    },
  };
  const body = { [Symbol.asyncIterator]: () => stream };
  const app = fastify();
  const left = new Promise((resolve) => {
    app.addHook('onRequest', async (_request, reply) => void reply.raw.once('close', resolve));
  });
  const api: Api = {
    async handle() {
      const opened = once(steps, 'opened');
      steps.emit('called');
      await opened;
      return { status: 200, headers: {}, body };
    },
  };
  await app.register(fastifyPlugin, { book: api });
  const request = get(await app.listen({ port: 0, host: '127.0.0.1' })).on('error', () => {});
  await called;
  request.destroy();
  await left;
  steps.emit('opened');
  await until(() => released === 1);
  await app.close();
  expect(released).toBe(1);
});

describe('fetchHandler', () => {
  test('does not begin a stream whose request was aborted', { timeout: 20_000 }, async () => {
    const control = new AbortController();
    const body = (async function* () {
      yield 'late';
    })();
    const handler = fetchHandler({
      async handle() {
        control.abort();
        return { status: 200, headers: {}, body };
      },
    });
    const response = await handler(new Request('http://localhost/', { signal: control.signal }));
    expect(await response.text()).toBe('');
  });

  test('ignores an abort after the stream was cancelled or has ended', async () => {
    const control = new AbortController();
    const handler = fetchHandler(book);
    const request = () => new Request('http://localhost/api/v1/orders/stream', { signal: control.signal });
    const cancelled = await handler(request());
    await cancelled.body?.cancel();
    const ended = (await handler(request())).text();
    await book.close(); // ends the stream
    await ended;
    expect(await abort(control)).toEqual([]);
  });
});

/** Aborts, and returns the exceptions that nothing has caught. */
async function abort(control: AbortController): Promise<unknown[]> {
  const errors: unknown[] = [];
  const record = (error: unknown) => void errors.push(error);
  process.on('uncaughtException', record);
  control.abort();
  await new Promise((resolve) => setImmediate(resolve));
  process.off('uncaughtException', record);
  return errors;
}

test('fetchHandler ignores an abort after the stream has failed, and releases it', async () => {
  const control = new AbortController();
  let released = 0;
  const body: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.reject(new Error('the source is broken')),
      return: async () => {
        released++;
        return { done: true, value: undefined };
      },
    }),
  };
  const handler = fetchHandler({ handle: async () => ({ status: 200, headers: {}, body }) });
  const response = await handler(new Request('http://localhost/', { signal: control.signal }));
  await expect(response.text()).rejects.toThrow('the source is broken');
  expect([await abort(control), released]).toEqual([[], 1]);
});

describe('CORS option', () => {
  const call = async (
    cors: CorsOption | undefined,
    origin: string | undefined,
    method = 'GET',
    path = '/api/v1/version',
  ) => {
    const handler = fetchHandler(createApi(book, cors === undefined ? {} : { cors }));
    const headers: Record<string, string> = origin === undefined ? {} : { origin };
    const response = await handler(new Request(`http://localhost${path}`, { method, headers }));
    return [response.status, response.headers.get('access-control-allow-origin'), response.headers.get('vary')];
  };

  test('allows any origin by default', async () => {
    expect(await call(undefined, ORIGIN)).toEqual([200, '*', null]);
    expect(await call({ origin: '*' }, ORIGIN)).toEqual([200, '*', null]);
  });

  test('allows only listed origins, also in rejections and preflight responses', async () => {
    const cors = { origin: [ORIGIN] };
    expect(await call(cors, ORIGIN)).toEqual([200, ORIGIN, 'origin']);
    expect(await call(cors, ORIGIN, 'GET', '/api/v1/nowhere')).toEqual([404, ORIGIN, 'origin']);
    expect(await call(cors, ORIGIN, 'OPTIONS')).toEqual([204, ORIGIN, 'origin']);
    expect(await call(cors, 'https://other.example.org')).toEqual([200, null, 'origin']);
    expect(await call(cors, undefined)).toEqual([200, null, 'origin']);
    expect(await call({ origin: ORIGIN }, ORIGIN)).toEqual([200, ORIGIN, 'origin']);
  });

  test('sets no header with false, so that headers of the application are not duplicated', async () => {
    expect(await call(false, ORIGIN)).toEqual([200, null, null]);
    const preflight = await fetchHandler(createApi(book, { cors: false }))(
      new Request('http://localhost/api/v1/orders', { method: 'OPTIONS' }),
    );
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  test.each([
    ['https://app.example.org/', 'https://app.example.org'],
    ['HTTPS://App.Example.org', 'https://app.example.org'],
    ['https://app.example.org:443', 'https://app.example.org'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['chrome-extension://abcdefghijklmnop', 'chrome-extension://abcdefghijklmnop'],
  ])('allows %s as browsers send it', async (allowed, origin) => {
    expect(await call({ origin: [allowed] }, origin)).toEqual([200, origin, 'origin']);
  });

  test('calls the header method of a request of another mount', async () => {
    class Incoming {
      readonly headers = new Map([['origin', ORIGIN]]);
      readonly method = 'GET';
      readonly path = '/api/v1/version';
      readonly query = '';
      readonly body = { type: 'none' } as const;

      header(name: string) {
        return this.headers.get(name);
      }
    }
    const { status, headers } = await createApi(book, { cors: { origin: ORIGIN } }).handle(new Incoming());
    expect([status, headers['access-control-allow-origin']]).toEqual([200, ORIGIN]);
  });

  test('rejects an option that is not an origin', () => {
    const origins = ['example', [7], 'localhost:3000', 'https://*.example.org', 'https://app.example.org/path', 'null'];
    for (const cors of [...origins.map((origin) => ({ origin })), {}, true]) {
      expect(() => createApi(book, { cors: cors as never })).toThrow(/cors\.origin must be/);
    }
  });
});

describe('header Vary of a host', () => {
  const api: Api = { handle: async () => ({ status: 200, headers: { vary: 'accept' }, body: 'text' }) };

  test('applies together with that of the interface on node:http', async () => {
    const handler = nodeHandler(api);
    const server = createServer((request, response) => {
      response.setHeader('Vary', ['Origin', 'Cookie']);
      handler(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a listening server has an address
    const response = await fetch(`http://127.0.0.1:${port}/`);
    expect(response.headers.get('vary')).toBe('Origin, Cookie, accept');
    server.close();
  });

  test('applies together with that of the interface in Fastify', async () => {
    const app = fastify();
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('vary', 'Origin');
    });
    await app.register(fastifyPlugin, { book: api });
    const { headers } = await app.inject('/');
    expect(headers['vary']).toBe('Origin, accept');
    await app.close();
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

describe('openApiPages', () => {
  test('serve the document and its page below a prefix, beside a book', async () => {
    const api = composeApis(openApiPages(), createApi(book));
    const handler = fetchHandler(api, { prefix: '/a/b' });
    const get = (path: string) => handler(new Request(`http://localhost/a/b${path}`));
    expect(await (await get('/openapi.json')).json()).toMatchObject({ openapi: '3.1.0', servers: [{ url: '.' }] });
    expect(await (await get('/docs')).text()).toContain('src="docs/swagger-ui-bundle.js"');
    expect((await get('/docs/swagger-ui.css')).headers.get('content-type')).toContain('text/css');
    expect((await get('/api/v1/version')).status).toBe(200);
  });
});

describe('beforeSubmit', () => {
  test('receives the order and the request, and can reject it', async () => {
    const seen: unknown[] = [];
    const api = createApi(book, {
      beforeSubmit(order, { request }) {
        seen.push(order, request.header('x-tenant'));
        if (request.header('x-tenant') === undefined) throw new OrderBookError('Forbidden', 'no tenant');
      },
    });
    const handler = fetchHandler(api);
    const order = await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 600 });
    const post = (headers: Record<string, string>) =>
      handler(
        new Request('http://localhost/api/v1/orders', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(order),
        }),
      );
    const rejected = await post({});
    expect([rejected.status, await rejected.json()]).toMatchObject([403, { errorType: 'Forbidden' }]);
    expect((await post({ 'x-tenant': 'acme' })).status).toBe(201);
    expect(seen).toEqual([order, undefined, order, 'acme']);
  });
});

test('logger with the interface of pino receives failures and reorganisations once', async () => {
  const lines: [level: string, fields: object, message: string][] = [];
  const log = (level: string) => (fields: object, message: string) => void lines.push([level, fields, message]);
  const logger = { info: log('info'), warn: log('warn'), error: log('error') };
  const failure = new Error('unreachable');
  const clock = manualClock();
  const broken: ChainSource = {
    id: 'node-1',
    name: 'node 1',
    settleCalls: () => Promise.reject(failure),
    head: () => Promise.reject(failure),
    block: () => Promise.reject(failure),
    logs: () => Promise.reject(failure),
    verify: () => Promise.reject(failure),
  };
  const indexer = { sources: [broken], pollInterval: 1000 };
  const logged = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock, logger, indexer });
  await logged.start();
  await until(() => {
    clock.advance(1000);
    return lines.some(([, , message]) => message === 'node does not respond');
  });
  logged.reportError(failure);
  await logged.close();
  const nodes = lines.filter(([, , message]) => message === 'node does not respond');
  expect(nodes).toEqual([['warn', { chainId: SEPOLIA, source: 'node 1', err: failure }, 'node does not respond']]);
  expect(lines).toContainEqual(['error', { chainId: SEPOLIA, err: failure }, 'failure']);
});

test('a request of a function, whose socket has no events, is served', async () => {
  // As serverless-http creates it.
  const socket = { readable: false, remoteAddress: '127.0.0.1', end() {}, destroy() {} };
  const request = new IncomingMessage(socket as never);
  Object.assign(request, { method: 'GET', url: '/api/v1/version', headers: {} });
  const response = new ServerResponse(request);
  const output = new PassThrough();
  response.assignSocket(output as never);
  nodeHandler(book)(request, response);
  await once(response, 'finish');
  expect([response.statusCode, String(output.read())]).toEqual([200, expect.stringContaining(String(SEPOLIA))]);
});
