import { mkdtempSync, rmSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express5 from 'express';
import fastify from 'fastify';
import type { OrderBook, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SEPOLIA } from '../support/orders.ts';
import { temporarySchema } from '../support/postgres.ts';
import type { HttpCase } from './case.ts';
import { SUITE_QUOTES } from './cases/quoting.ts';
import { described } from './described.ts';
import { HTTP_CASES } from './suite.ts';
import type { HttpWorld } from './world.ts';
import { answer, encode, socketWorld } from './world.ts';

const folder = mkdtempSync(join(tmpdir(), 'intentbook-http-'));
const place = await temporarySchema();
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await place[Symbol.asyncDispose]();
});

const now = () => Math.floor(Date.now() / 1000);

interface Served {
  readonly world: HttpWorld;
  /** Where the host itself answers. */
  readonly origin?: string;
  stop(): Promise<void>;
}

/** Serves a book and says where. */
interface Mount {
  readonly name: string;
  /** What the host judges before the mount does, with an answer of its own. */
  readonly judges?: HttpCase['judged'];
  serve(book: OrderBook): Promise<Served>;
}

async function listen(listener: RequestListener, prefix: string): Promise<Served> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { world: socketWorld(origin + prefix, now), origin, stop };
}

const nodeHttp = (prefix: string): Mount => ({
  name: `node:http below "${prefix}"`,
  serve: (book) => listen(nodeHandler(book, { prefix }), prefix),
});

const fetchServer = (prefix: string): Mount => ({
  name: `fetch below "${prefix}"`,
  async serve(book) {
    const handler = fetchHandler(book, { prefix });
    const world: HttpWorld = {
      now,
      async send(method, path, sent = {}) {
        const { headers, bytes } = encode(sent);
        const init = { method, headers, ...(bytes === undefined ? {} : { body: bytes }) };
        const response = await handler(new Request(`http://localhost${prefix}${path}`, init));
        return answer(response.status, (name) => response.headers.get(name) ?? undefined, await response.text());
      },
    };
    return { world, stop: async () => {} };
  },
});

// The two versions differ in their types, not in what is used of them here.
const EXPRESS = { 4: createRequire(import.meta.url)('express4') as typeof express5, 5: express5 };
const PARSERS = {
  json: (express: typeof express5) => express.json({ limit: '2mb', strict: false }),
  raw: (express: typeof express5) => express.raw({ limit: '2mb', type: () => true }),
  text: (express: typeof express5) => express.text({ limit: '2mb', type: () => true }),
};

function expressApp(version: 4 | 5, prefix: string, parser?: keyof typeof PARSERS): Mount {
  return {
    name: `Express ${version} below "${prefix}"${parser === undefined ? '' : ` behind its ${parser} parser`}`,
    ...(parser !== undefined && { judges: 'body' }),
    serve(book) {
      const express = EXPRESS[version];
      const app = express();
      app.disable('x-powered-by');
      if (parser !== undefined) app.use(PARSERS[parser](express));
      if (prefix === '') app.use(expressRouter(book));
      else {
        // Nested: each router takes a part of the path off.
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
  judges: 'url',
  async serve(book) {
    const app = fastify({ forceCloseConnections: true });
    app.setNotFoundHandler((_request, reply) => reply.status(404).send('the 404 of the host'));
    app.get('/host', () => 'the host');
    await app.register(fastifyPlugin, { book, ...(prefix !== '' && { prefix }) });
    const origin = await app.listen({ port: 0, host: '127.0.0.1' });
    return { world: socketWorld(origin + prefix, now), origin, stop: () => app.close() };
  },
});

const stores: readonly (readonly [name: string, make: () => Store])[] = [
  ['memory', memoryStore],
  ['sqlite', () => sqliteStore({ path: join(folder, 'orders.sqlite') })],
  ['postgres', () => postgresStore({ url: place.url, schema: place.schema, migrate: true })],
];
const mounts: readonly Mount[] = [
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

// Each mount over one store and each store under one mount: they do not know of each other.
const pairs = mounts.flatMap((mount, i) =>
  stores.filter((_, j) => i === 0 || j === 0).map((store) => ({ mount, store })),
);

describe.each(pairs)('$mount.name over $store.0', ({ mount, store: [, make] }) => {
  const book = createOrderBook({ chainId: SEPOLIA, store: make(), quotes: SUITE_QUOTES });
  const faults: unknown[] = [];
  book.on('fault', (fault) => faults.push(fault));
  let served: Served;
  beforeAll(async () => {
    await book.start();
    served = await mount.serve(book);
  });
  afterAll(async () => {
    await served.stop();
    await book.close();
    if (faults.length > 0) throw faults[0];
  });

  for (const { name, judged, run } of HTTP_CASES) {
    if (judged === undefined || judged !== mount.judges) test(name, () => run(described(served.world)));
  }

  test('what is not the interface’s own is left to the host', async () => {
    if (served.origin === undefined || mount.name.startsWith('node')) return;
    const ask = async (path: string) => (await fetch(`${served.origin}${path}`)).text();
    expect(await ask('/host')).toBe('the host');
    expect(await ask('/elsewhere')).toBe('the 404 of the host');
  });
});

test('two books are served side by side in one application', async () => {
  const books = [1, 100].map((chainId) => createOrderBook({ chainId, store: memoryStore() }));
  const app = express5();
  const other = fastify({ forceCloseConnections: true });
  for (const book of books) {
    await book.start();
    app.use(`/${book.chainId}`, expressRouter(book));
    await other.register(fastifyPlugin, { prefix: `/${book.chainId}`, book });
  }
  const { origin, stop } = await listen(app, '');
  const origins = [origin, await other.listen({ port: 0, host: '127.0.0.1' })];
  for (const where of origins) {
    for (const { chainId } of books) {
      const answered = await (await fetch(`${where}/${chainId}/api/v1/version`)).text();
      expect(answered).toContain(`chain ${chainId} `);
    }
  }
  await stop();
  await other.close();
  for (const book of books) await book.close();
});
