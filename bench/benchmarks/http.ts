import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { createApi, createOrderBook, type Hex, type OrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import { fetchHandler } from 'intentbook/fetch';
import { nodeHandler } from 'intentbook/node-http';
import { sqliteStore } from 'intentbook/sqlite';
import type { CreateBenchmark, Measure, Round, Sample, Subject } from '../benchmark.ts';
import { divideTimes, measureTime, readMeasured } from '../benchmark.ts';
import { createBodyCheck, expectCount } from '../checks.ts';
import { orderFile } from '../files.ts';
import type { Load } from '../load.ts';
import { CHAIN_ID } from '../orders.ts';
import { createByUidsRequest, createGetRequest, createUidPicker } from '../stats.ts';

/** Number of orders that are read. Their texts fit in the cache, so that the mount is measured and not the store. */
const CACHED = 1024;
const UIDS = 128;
const MOUNTS = ['node:http', 'express', 'fastify', 'fetch'] as const;
type Mount = (typeof MOUNTS)[number];

/** Orders over HTTP through every mount, compared with a bare handler that sends the same bytes. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const count = orders[0] ?? 0;
  const gets = tiny ? 20 : 10_000;
  const lists = tiny ? 2 : 1000;

  async function openBook(lane: string): Promise<OrderBook> {
    const store = sqliteStore({ path: await orderFile(count, `http-${lane.replace(':', '-')}`) });
    const book = createOrderBook({ chainId: CHAIN_ID, store });
    await book.start();
    return book;
  }

  const cached = Math.min(CACHED, count);
  const [uids] = [createUidPicker(count, cached, cached)()];
  const pick = createUidPicker(count, UIDS, cached);
  const bodies = Array.from({ length: 16 }, () => JSON.stringify(pick()));

  /**
   * Creates a subject that receives requests over sockets from another thread.
   *
   * @param lengths - Bytes of the responses.
   */
  async function overSockets(server: Server, lengths: Lengths, close: () => Promise<void>): Promise<Subject> {
    server.keepAliveTimeout = 0; // connections stay open during the rounds of other subjects
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // of a TCP server
    const worker = new Worker(new URL('../load.js', import.meta.url));
    const head = `Host: 127.0.0.1:${port}\r\n`;
    const requests = uids.map((uid) => `GET /api/v1/orders/${uid} HTTP/1.1\r\n${head}\r\n`);
    const posts = bodies.map(
      (body) =>
        `POST /api/v1/orders/by_uids HTTP/1.1\r\n${head}Content-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    const run = async (load: Omit<Load, 'port'>): Promise<Sample> => {
      const before = performance.eventLoopUtilization();
      worker.postMessage({ port, ...load });
      const [ms] = (await once(worker, 'message')) as [number | string]; // see load.ts
      if (typeof ms === 'string') throw new Error(ms);
      const { active } = performance.eventLoopUtilization(before);
      return { time: (ms * 1000) / load.count, busy: (active * 1000) / load.count };
    };
    return {
      async round() {
        const get = await run({ requests, connections: 32, count: gets, length: lengths.one });
        const list = await run({ requests: posts, connections: 4, count: lists, length: lengths.many });
        return { ...get, by_uids: list.time, 'by_uids busy': list['busy'] ?? list.time };
      },
      async close() {
        await worker.terminate();
        server.closeAllConnections();
        server.close();
        await close();
      },
    };
  }

  /** Creates a subject that calls a fetch handler in this process, because its transport depends on the host. */
  function inProcess(
    handler: (request: Request) => Promise<Response>,
    lengths: Lengths,
    close: () => Promise<void>,
  ): Subject {
    const origin = 'http://127.0.0.1';
    const send = async (request: Request) => {
      const response = await handler(request);
      if (response.status !== 200) throw new Error(`the response has status ${response.status}`);
      return (await response.arrayBuffer()).byteLength;
    };
    const headers = { 'content-type': 'application/json' };
    return {
      async round() {
        const readOrders = async () => {
          let bytes = 0;
          for (let i = 0; i < gets; i++) {
            bytes += await send(new Request(`${origin}/api/v1/orders/${uids[i % uids.length]}`));
          }
          return bytes;
        };
        const readLists = async () => {
          let bytes = 0;
          for (let i = 0; i < lists; i++) {
            const body = bodies[i % bodies.length] ?? '';
            bytes += await send(new Request(`${origin}/api/v1/orders/by_uids`, { method: 'POST', headers, body }));
          }
          return bytes;
        };
        const get = await measureTime(gets, readOrders, { check: expectCount(gets * lengths.one) });
        const list = await measureTime(lists, readLists, { check: expectCount(lists * lengths.many) });
        return { ...get, by_uids: list.time, 'by_uids busy': list.time };
      },
      close,
    };
  }

  const mounted = (mount: Mount) => async (): Promise<Subject> => {
    const book = await openBook(mount);
    const lengths = getLengths(await readResponses(book));
    const close = () => book.close();
    switch (mount) {
      case 'node:http':
        return overSockets(createServer(nodeHandler(book)), lengths, close);
      case 'express': {
        const { default: express } = await import('express');
        return overSockets(createServer(express().use(expressRouter(book))), lengths, close);
      }
      case 'fastify': {
        const { default: fastify } = await import('fastify');
        const app = fastify();
        app.register(fastifyPlugin, { book });
        await app.ready();
        return overSockets(app.server, lengths, close);
      }
      case 'fetch':
        return inProcess(fetchHandler(book), lengths, close);
    }
  };

  /** Returns the responses of the API, which are also those of a host without an API. */
  async function readResponses(book: OrderBook) {
    const api = createApi(book);
    const listed: Hex[] = JSON.parse(bodies[0] ?? '[]');
    const get = await api.handle(createGetRequest(`/api/v1/orders/${uids[0]}`));
    const list = await api.handle(createByUidsRequest(listed));
    const [one, many] = [get.body, list.body];
    if (typeof one !== 'string' || !(many instanceof Uint8Array)) throw new Error('a response has an unexpected type');
    createBodyCheck()(Buffer.from(one), uids.slice(0, 1));
    createBodyCheck()(many, listed);
    return { one, many, oneHeaders: get.headers, manyHeaders: list.headers };
  }

  async function readResponsesOnce() {
    const book = await openBook('bare');
    const responses = await readResponses(book);
    await book.close();
    return responses;
  }

  const bare = (mount: Mount) => async (): Promise<Subject> => {
    const responses = await readResponsesOnce();
    const { one, many, oneHeaders, manyHeaders } = responses;
    const lengths = getLengths(responses);
    const close = async () => {};
    // Everything that is constant is computed in advance.
    const bareServer = () => {
      const oneHead = { 'content-length': Buffer.byteLength(one), ...oneHeaders };
      const manyHead = { 'content-length': many.length, ...manyHeaders };
      return createServer((request, response) => {
        if (request.method === 'GET') response.writeHead(200, oneHead).end(one);
        else request.resume().once('end', () => response.writeHead(200, manyHead).end(many));
      });
    };
    switch (mount) {
      case 'node:http':
        return overSockets(bareServer(), lengths, close);
      case 'express': {
        const { default: express } = await import('express');
        const app = express();
        app.get('/api/v1/orders/:uid', (_request, response) => void response.set(oneHeaders).send(one));
        app.post('/api/v1/orders/by_uids', express.json({ limit: '1mb' }), (_request, response) => {
          response.set(manyHeaders).send(Buffer.from(many.buffer, many.byteOffset, many.length));
        });
        return overSockets(createServer(app), lengths, close);
      }
      case 'fastify': {
        const { default: fastify } = await import('fastify');
        const app = fastify({ bodyLimit: 1024 * 1024, routerOptions: { maxParamLength: 200 } });
        app.get('/api/v1/orders/:uid', (_request, reply) => reply.headers(oneHeaders).send(one));
        app.post('/api/v1/orders/by_uids', (_request, reply) => reply.headers(manyHeaders).send(many));
        await app.ready();
        return overSockets(app.server, lengths, close);
      }
      case 'fetch':
        return inProcess(
          async (request) => {
            if (request.method === 'GET') return new Response(one, { headers: oneHeaders });
            await request.json();
            return new Response(many, { headers: manyHeaders });
          },
          lengths,
          close,
        );
    }
  };

  /** A handler with the least work for a cached `by_uids`: it parses the body, finds the orders and copies them. */
  const minimal = async (): Promise<Subject> => {
    const { one, many, oneHeaders, manyHeaders } = await readResponsesOnce();
    const listed = Math.min(UIDS, cached);
    const size = Math.floor(many.length / listed);
    const texts = new Map(uids.map((uid, i) => [uid as string, Buffer.alloc(size, String(i % 10))]));
    const unused: Buffer[] = [];
    const server = createServer((request, response) => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-length': Buffer.byteLength(one), ...oneHeaders }).end(one);
        return;
      }
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.once('end', () => {
        const keys = JSON.parse(Buffer.concat(chunks).toString()) as string[];
        const body = unused.pop() ?? Buffer.alloc(keys.length * size);
        let length = 0;
        for (const key of keys) {
          const text = texts.get(key);
          if (text === undefined) continue;
          body.set(text, length);
          length += size;
        }
        response.once('finish', () => unused.push(body));
        response.writeHead(200, { 'content-length': length, ...manyHeaders }).end(body);
      });
    });
    return overSockets(server, { one: Buffer.byteLength(one), many: listed * size }, async () => {});
  };

  return {
    title: `HTTP: GET of one order and by_uids of ${UIDS} orders, of ${count} orders`,
    subjects: Object.fromEntries([
      ...MOUNTS.flatMap((mount) => [[mount, mounted(mount)] as const, [`bare ${mount}`, bare(mount)] as const]),
      ['minimal node:http', minimal] as const,
    ]),
    measures: [
      ...MOUNTS.flatMap((mount): Measure[] => [
        {
          title: `GET, ${mount}: requests per second ÷ those of a bare handler`,
          compute: divideTimes(`bare ${mount}`, mount),
          target: { atLeast: GET_TARGETS[mount] },
          reason: GET_REASON,
        },
        {
          title: `by_uids, ${mount}: processor time of a bare handler ÷ own`,
          compute: divideBusy(`bare ${mount}`, mount),
          target: { atLeast: BY_UIDS_TARGETS[mount] },
          reason: BY_UIDS_REASON,
        },
      ]),
      {
        title: 'by_uids, node:http: processor time of a handler that parses, finds and copies ÷ own',
        compute: divideBusy('minimal node:http', 'node:http'),
      },
    ],
  };
};

/** Bytes of a response with one order, and of one with a list. All orders of a file have texts of equal length. */
interface Lengths {
  readonly one: number;
  readonly many: number;
}

function getLengths({ one, many }: { readonly one: string; readonly many: Uint8Array }): Lengths {
  return { one: Buffer.byteLength(one), many: many.length };
}

/** Divides the time in which the event loop works, because the client of a bare handler is slower than the handler. */
function divideBusy(subject: string, other: string): (round: Round) => number {
  return (round) => readMeasured(subject, 'by_uids busy')(round) / readMeasured(other, 'by_uids busy')(round);
}

const GET_TARGETS: Readonly<Record<Mount, number>> = { 'node:http': 0.8, express: 0.8, fastify: 0.8, fetch: 0.75 };

const BY_UIDS_TARGETS: Readonly<Record<Mount, number>> = {
  'node:http': 0.42,
  express: 0.75,
  fastify: 0.6,
  fetch: 0.7,
};

const GET_REASON =
  'A bare handler sends a prepared text. The interface also finds the route, checks the UID, compares the log with the ' +
  'cache, derives the status and joins the headers.';

const BY_UIDS_REASON =
  'A bare handler sends the same 150 kB again and again, which stay in the cache of the processor. Parsing, finding ' +
  'and copying 128 other orders takes most of the difference: compare `a handler that parses, finds and copies`.';
