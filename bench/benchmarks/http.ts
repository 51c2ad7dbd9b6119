import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { createApi, createOrderBook, type OrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import { fetchHandler } from 'intentbook/fetch';
import { nodeHandler } from 'intentbook/node-http';
import { sqliteStore } from 'intentbook/sqlite';
import type { MakeTrial, Measure, Round, Sample, Subject } from '../benchmark.ts';
import { timed, times, told } from '../benchmark.ts';
import { orderFile } from '../files.ts';
import type { Load } from '../load.ts';
import { CHAIN_ID } from '../orders.ts';
import { byUidsRequest, getRequest, uidPicker } from '../stats.ts';

/** How many orders are asked for. Their texts fit into the cache, so that what is measured is the way, not the store. */
const HOT = 1024;
const UIDS = 128;
const MOUNTS = ['node:http', 'express', 'fastify', 'fetch'] as const;
type Mount = (typeof MOUNTS)[number];

/** Orders over HTTP, through every mount, against the bare host sending the same bytes. */
export const trial: MakeTrial = ({ tiny, orders }) => {
  const count = orders[0] ?? 0;
  const gets = tiny ? 20 : 10_000;
  const lists = tiny ? 2 : 100;

  async function openBook(lane: string): Promise<OrderBook> {
    const store = sqliteStore({ path: await orderFile(count, `http-${lane.replace(':', '-')}`) });
    const book = createOrderBook({ chainId: CHAIN_ID, store });
    await book.start();
    return book;
  }

  const hot = Math.min(HOT, count);
  const [uids] = [uidPicker(count, hot, hot)()];
  const pick = uidPicker(count, UIDS, hot);
  const bodies = Array.from({ length: 16 }, () => JSON.stringify(pick()));

  /** Asks over sockets, from another thread. */
  async function overSockets(server: Server, close: () => Promise<void>): Promise<Subject> {
    server.keepAliveTimeout = 0; // others have their rounds in between
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // of a socket that listens on TCP
    const worker = new Worker(new URL('../load.js', import.meta.url));
    const head = `Host: 127.0.0.1:${port}\r\n`;
    const requests = uids.map((uid) => `GET /api/v1/orders/${uid} HTTP/1.1\r\n${head}\r\n`);
    const posts = bodies.map(
      (body) =>
        `POST /api/v1/orders/by_uids HTTP/1.1\r\n${head}Content-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    const ask = async (load: Omit<Load, 'port'>): Promise<Sample> => {
      const before = performance.eventLoopUtilization();
      worker.postMessage({ port, ...load });
      const [ms] = (await once(worker, 'message')) as [number | string]; // see load.ts
      if (typeof ms === 'string') throw new Error(ms);
      const { active } = performance.eventLoopUtilization(before);
      return { time: (ms * 1000) / load.count, busy: (active * 1000) / load.count };
    };
    return {
      async round() {
        const get = await ask({ requests, connections: 32, count: gets });
        const list = await ask({ requests: posts, connections: 4, count: lists });
        return { ...get, by_uids: list.time, 'by_uids busy': list['busy'] ?? Number.NaN };
      },
      async close() {
        await worker.terminate();
        server.closeAllConnections();
        server.close();
        await close();
      },
    };
  }

  /** Asks a function of the web's own types, in this process: what carries such a function is the host's choice. */
  function inProcess(handler: (request: Request) => Promise<Response>, close: () => Promise<void>): Subject {
    const origin = 'http://127.0.0.1';
    const take = async (request: Request) => {
      const response = await handler(request);
      if (response.status !== 200) throw new Error(`the answer is ${response.status}`);
      await response.arrayBuffer();
    };
    const headers = { 'content-type': 'application/json' };
    return {
      async round() {
        const get = await timed(gets, async () => {
          for (let i = 0; i < gets; i++) await take(new Request(`${origin}/api/v1/orders/${uids[i % uids.length]}`));
        });
        const list = await timed(lists, async () => {
          for (let i = 0; i < lists; i++) {
            const body = bodies[i % bodies.length] ?? '';
            await take(new Request(`${origin}/api/v1/orders/by_uids`, { method: 'POST', headers, body }));
          }
        });
        return { ...get, by_uids: list.time };
      },
      close,
    };
  }

  const mounted = (mount: Mount) => async (): Promise<Subject> => {
    const book = await openBook(mount);
    const close = () => book.close();
    switch (mount) {
      case 'node:http':
        return overSockets(createServer(nodeHandler(book)), close);
      case 'express': {
        const { default: express } = await import('express');
        return overSockets(createServer(express().use(expressRouter(book))), close);
      }
      case 'fastify': {
        const { default: fastify } = await import('fastify');
        const app = fastify();
        app.register(fastifyPlugin, { book });
        await app.ready();
        return overSockets(app.server, close);
      }
      case 'fetch':
        return inProcess(fetchHandler(book), close);
    }
  };

  /** What the interface answers, to be sent by a host that knows nothing of orders. */
  async function answers() {
    const book = await openBook('bare');
    const api = createApi(book);
    const get = await api.handle(getRequest(`/api/v1/orders/${uids[0]}`));
    const list = await api.handle(byUidsRequest(JSON.parse(bodies[0] ?? '[]')));
    await book.close();
    const [one, many] = [get.body, list.body];
    if (typeof one !== 'string' || !(many instanceof Uint8Array)) throw new Error('the answers are of another kind');
    return { one, many, oneHeaders: get.headers, manyHeaders: list.headers };
  }

  const bare = (mount: Mount) => async (): Promise<Subject> => {
    const { one, many, oneHeaders, manyHeaders } = await answers();
    const close = async () => {};
    // All that can be known beforehand is.
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
        return overSockets(bareServer(), close);
      case 'express': {
        const { default: express } = await import('express');
        const app = express();
        app.get('/api/v1/orders/:uid', (_request, response) => void response.set(oneHeaders).send(one));
        app.post('/api/v1/orders/by_uids', express.json({ limit: '1mb' }), (_request, response) => {
          response.set(manyHeaders).send(Buffer.from(many.buffer, many.byteOffset, many.length));
        });
        return overSockets(createServer(app), close);
      }
      case 'fastify': {
        const { default: fastify } = await import('fastify');
        const app = fastify({ bodyLimit: 1024 * 1024, routerOptions: { maxParamLength: 200 } });
        app.get('/api/v1/orders/:uid', (_request, reply) => reply.headers(oneHeaders).send(one));
        app.post('/api/v1/orders/by_uids', (_request, reply) => reply.headers(manyHeaders).send(many));
        await app.ready();
        return overSockets(app.server, close);
      }
      case 'fetch':
        return inProcess(async (request) => {
          if (request.method === 'GET') return new Response(one, { headers: oneHeaders });
          await request.json();
          return new Response(many, { headers: manyHeaders });
        }, close);
    }
  };

  return {
    title: `HTTP: GET of one order, and by_uids of ${UIDS}, of ${count} orders`,
    subjects: Object.fromEntries(
      MOUNTS.flatMap((mount) => [
        [mount, mounted(mount)],
        [`bare ${mount}`, bare(mount)],
      ]),
    ),
    measures: MOUNTS.flatMap((mount): Measure[] => [
      {
        title: `GET, ${mount}: share of what the bare host answers in a second`,
        of: times(`bare ${mount}`, mount),
        ...(mount === 'node:http' ? { bar: { atLeast: 0.6 } } : {}),
      },
      {
        title: `by_uids, ${mount}: the same`,
        of: (round: Round) => told(`bare ${mount}`, 'by_uids')(round) / told(mount, 'by_uids')(round),
      },
    ]),
  };
};
