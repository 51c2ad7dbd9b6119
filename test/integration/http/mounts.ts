import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import express5 from 'express';
import fastify from 'fastify';
import type { OrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import type { FetchHandler } from 'intentbook/fetch';
import { fetchHandler } from 'intentbook/fetch';
import { nodeHandler } from 'intentbook/node-http';
import type { HttpCase } from './case.ts';
import type { HttpFixture } from './http-fixture.ts';
import { answer, encode, socketFixture } from './http-fixture.ts';

const now = () => Math.floor(Date.now() / 1000);

export interface Served {
  readonly fixture: HttpFixture;
  /** URL of the host. */
  readonly origin?: string;
  /** URL of the book. Absent without a socket. */
  readonly url?: string;
  stop(): Promise<void>;
}

/** Serves a book and returns its URLs. */
export interface Mount {
  readonly name: string;
  /** Validation that the host performs before the mount, with its own response. */
  readonly validates?: HttpCase['validates'];
  serve(book: OrderBook): Promise<Served>;
}

export async function listen(listener: RequestListener, prefix: string): Promise<Served> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const url = origin + prefix;
  return { fixture: socketFixture(url, now), origin, url, stop };
}

export const nodeHttp = (prefix: string): Mount => ({
  name: `node:http below "${prefix}"`,
  serve: (book) => listen(nodeHandler(book, { prefix }), prefix),
});

const fetchServer = (prefix: string): Mount => ({
  name: `fetch below "${prefix}"`,
  async serve(book) {
    const handler = fetchHandler(book, { prefix });
    const fixture: HttpFixture = {
      now,
      async send(method, path, sent = {}) {
        const { headers, bytes } = encode(sent);
        const init = { method, headers, ...(bytes === undefined ? {} : { body: bytes }) };
        const response = await handler(new Request(`http://localhost${prefix}${path}`, init));
        return answer(response.status, (name) => response.headers.get(name) ?? undefined, await response.text());
      },
    };
    return { fixture, stop: async () => {} };
  },
});

/** Passes requests of Node.js to a fetch handler, like Node.js hosts. */
function bridge(handler: FetchHandler): RequestListener {
  return async (request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const body = method === 'GET' || method === 'HEAD' ? {} : { body: Readable.toWeb(request), duplex: 'half' };
    const init = { method, headers: headers as Record<string, string>, ...body }; // no header with several values
    // Two copies of one type.
    const answered = await handler(new Request(`http://${headers.host}${url}`, init as RequestInit));
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    if (answered.body === null) response.end();
    else await pipeline(Readable.fromWeb(answered.body as ReadableStream), response); // two copies of one type
  };
}

const fetchBridge = (prefix: string): Mount => ({
  name: `fetch below "${prefix}", on node by a bridge`,
  serve: (book) => listen(bridge(fetchHandler(book, { prefix })), prefix),
});

// The two versions differ in their types, but not in the methods that the tests use.
const EXPRESS = { 4: createRequire(import.meta.url)('express4') as typeof express5, 5: express5 };
const PARSERS = {
  json: (express: typeof express5) => express.json({ limit: '2mb', strict: false }),
  raw: (express: typeof express5) => express.raw({ limit: '2mb', type: () => true }),
  text: (express: typeof express5) => express.text({ limit: '2mb', type: () => true }),
};

function expressApp(version: 4 | 5, prefix: string, parser?: keyof typeof PARSERS): Mount {
  return {
    name: `Express ${version} below "${prefix}"${parser === undefined ? '' : ` behind its ${parser} parser`}`,
    ...(parser !== undefined && { validates: 'body' }),
    serve(book) {
      const express = EXPRESS[version];
      const app = express();
      app.disable('x-powered-by');
      if (parser !== undefined) app.use(PARSERS[parser](express));
      if (prefix === '') app.use(expressRouter(book));
      else {
        // Nested routers, each of which removes a part of the path.
        const [first = '', ...rest] = prefix.slice(1).split('/');
        const router = express.Router();
        router.use(`/${rest.join('/')}`, expressRouter(book));
        app.use(`/${first}`, router);
      }
      app.get('/host', (_request, response) => void response.send('the host'));
      app.use((_request, response) => void response.status(404).send('the 404 of the host'));
      return listen(app, prefix);
    },
  };
}

const fastifyApp = (prefix: string): Mount => ({
  name: `Fastify 5 below "${prefix}"`,
  validates: 'url',
  async serve(book) {
    const app = fastify({ forceCloseConnections: true });
    app.setNotFoundHandler((_request, reply) => reply.status(404).send('the 404 of the host'));
    app.get('/host', () => 'the host');
    await app.register(fastifyPlugin, { book, ...(prefix !== '' && { prefix }) });
    const origin = await app.listen({ port: 0, host: '127.0.0.1' });
    const url = origin + prefix;
    return { fixture: socketFixture(url, now), origin, url, stop: () => app.close() };
  },
});

/** All mounts, each at least at the root and below a path. */
export const MOUNTS: readonly Mount[] = [
  nodeHttp(''),
  nodeHttp('/a/b'),
  fetchServer(''),
  fetchServer('/sepolia'),
  expressApp(5, ''),
  expressApp(5, '/a/b'),
  expressApp(5, '/a/b', 'json'),
  expressApp(5, '', 'raw'),
  expressApp(4, '/a', 'text'),
  expressApp(4, '', 'json'),
  fastifyApp(''),
  fastifyApp('/a/b'),
];

/** Mounts for client tests: each kind once at the root, and each host with its own validation. */
export const REACHABLE_MOUNTS: readonly Mount[] = [
  nodeHttp('/a/b'),
  expressApp(5, '/a/b', 'json'),
  expressApp(4, '', 'json'),
  fastifyApp(''),
  fetchBridge('/sepolia'),
];
