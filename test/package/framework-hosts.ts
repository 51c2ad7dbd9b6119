import { BOOK, LISTENER, SERVER, withDatabase } from './framework-parts.ts';

/** A host program: it prints `listening <port>`, serves a book below `/book`, and stops at SIGTERM. */
export interface FrameworkHost {
  readonly name: string;
  /** Packages of the program that are development dependencies. */
  readonly packages?: readonly string[];
  /** Packages that only the long run installs. */
  readonly installed?: readonly string[];
  /** The program that runs the code. Default: Node.js. */
  readonly command?: readonly string[];
  readonly protocol?: 'h2';
  readonly code: string;
  /** Whether the application has a database, whose transactions submissions join. */
  readonly hasDatabase?: true;
  /** Exit code after SIGTERM. Default: 0. */
  readonly exitCode?: number | null;
  /** Reasons for which a case does not apply, by the name of the case. */
  readonly skip?: Readonly<Record<string, string>>;
}

const express = (version: string) => `${BOOK}${SERVER}
import compression from 'compression';
import express from '${version}';
import { expressRouter } from 'intentbook/express';
const app = express();
app.use(compression({ threshold: 0 }));
app.use((request, response, next) => {
  response.set(CORS);
  if (isAllowed(request.method, request.headers.authorization)) next();
  else response.status(401).end();
});
app.use(express.json());
app.use('/book', expressRouter(book));
import { createServer } from 'node:http';
run(createServer(app));
`;

const fastify = (compress: string) => `${BOOK}
import fastify from 'fastify';
import { fastifyPlugin } from 'intentbook/fastify';
const app = fastify();
${compress}
app.addHook('onRequest', async (request, reply) => {
  reply.headers(CORS);
  if (!isAllowed(request.method, request.headers.authorization)) return reply.code(401).send();
});
app.register(fastifyPlugin, { prefix: '/book', book });
app.addHook('onClose', () => book.close());
await app.listen({ port: 0, host: '127.0.0.1' });
console.log('listening ' + app.server.address().port);
process.once('SIGTERM', () => app.close());
`;

/** A handler of fetch behind the middlewares of an application. */
const FETCH = `${BOOK}
import { fetchHandler } from 'intentbook/fetch';
import { createApi } from 'intentbook';
const handler = fetchHandler(createApi(book, { cors: false }), { prefix: '/book' });
async function respond(request) {
  if (!isAllowed(request.method, request.headers.get('authorization'))) return new Response(null, { status: 401 });
  const response = await handler(request);
  for (const [name, value] of Object.entries(CORS)) response.headers.set(name, value);
  return response;
}
`;

/** An application of Hono for one of its runtimes. */
const hono = (start: string) => `${BOOK}
import { Hono } from 'hono';
import { compress } from 'hono/compress';
import { cors } from 'hono/cors';
import { etag } from 'hono/etag';
import { createApi } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
const handler = fetchHandler(createApi(book, { cors: false }), { prefix: '/book' });
const app = new Hono();
app.use(cors({ origin: 'https://host.example', exposeHeaders: ['Link', 'ETag', 'Retry-After'] }));
app.use(async (context, next) => {
  if (!isAllowed(context.req.method, context.req.header('authorization'))) return context.body(null, 401);
  await next();
});
app.use(compress({ threshold: 0 }));
const addTag = etag();
app.use((context, next) => (context.req.path.endsWith('/stream') ? next() : addTag(context, next)));
app.all('/book/*', (context) => handler(context.req.raw));
${start}`;

const HONO_ON_NODE = `
import { serve } from '@hono/node-server';
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log('listening ' + port));
process.once('SIGTERM', async () => {
  server.close();
  await book.close();
  server.closeIdleConnections();
});
`;

/** Starts a server of Bun. @param respond - Its function of fetch. */
const bun = (respond: string) => `
const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: ${respond} });
console.log('listening ' + server.port);
process.once('SIGTERM', async () => {
  const stopped = server.stop();
  await book.close();
  await stopped;
});
`;

/** Starts a server of Deno. @param respond - Its function of fetch. */
const deno = (respond: string) => `
const onListen = ({ port }) => console.log('listening ' + port);
const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen }, ${respond});
async function shutDown() {
  Deno.removeSignalListener('SIGTERM', shutDown);
  const stopped = server.shutdown();
  await book.close();
  await stopped;
}
Deno.addSignalListener('SIGTERM', shutDown);
`;

const koa = `${BOOK}${SERVER}
import Koa from 'koa';
import parse from 'koa-bodyparser';
import compress from 'koa-compress';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { nodeHandler } from 'intentbook/node-http';
const handler = nodeHandler(book, { prefix: '/book' });
const app = new Koa();
app.use(compress({ threshold: 0 }));
app.use((context, next) => {
  context.set(CORS);
  if (isAllowed(context.method, context.get('authorization'))) return next();
  context.status = 401;
});
app.use(parse());
app.use(async (context) => {
  context.respond = false;
  context.req.body = context.request.body;
  handler(context.req, context.res);
  await once(context.res, 'close');
});
app.silent = true;
run(createServer(app.callback()));
`;

const nest = `${BOOK}
import 'reflect-metadata';
import compression from 'compression';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { expressRouter } from 'intentbook/express';
class BookModule {
  async beforeApplicationShutdown() {
    await book.close();
  }
}
Module({})(BookModule);
const app = await NestFactory.create(BookModule, { logger: ['error'] });
app.use(compression({ threshold: 0 }));
app.use((request, response, next) => {
  response.set(CORS);
  if (isAllowed(request.method, request.headers.authorization)) next();
  else response.status(401).end();
});
app.use('/book', expressRouter(book));
app.enableShutdownHooks(['SIGTERM']);
await app.listen(0, '127.0.0.1');
console.log('listening ' + app.getHttpServer().address().port);
`;

/** A server of node:http that calls a Lambda handler, as the gateway does. */
const lambda = `${BOOK}${SERVER}
import express from 'express';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expressRouter } from 'intentbook/express';
import serverless from 'serverless-http';
const app = express();
app.use((request, response, next) => {
  response.set(CORS);
  if (isAllowed(request.method, request.headers.authorization)) next();
  else response.status(401).end();
});
app.use('/book', expressRouter(book));
const handler = serverless(app);
run(createServer(async (request, response) => {
  const { pathname, search } = new URL(request.url, 'http://localhost');
  const body = await buffer(request);
  const result = await handler({
    version: '2.0',
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: request.headers,
    requestContext: { http: { method: request.method, path: pathname, sourceIp: '127.0.0.1' } },
    body: body.toString('base64'),
    isBase64Encoded: true,
  }, {});
  response.writeHead(result.statusCode, result.headers);
  response.end(Buffer.from(result.body ?? '', result.isBase64Encoded ? 'base64' : 'utf8'));
}));
`;

const cluster = `
import cluster from 'node:cluster';
if (cluster.isPrimary) {
  const worker = cluster.fork();
  process.once('SIGTERM', () => worker.process.kill('SIGTERM'));
  worker.once('exit', (code) => process.exit(code));
} else await import('./cluster-worker.mjs');
`;

const thread = `
import { Worker } from 'node:worker_threads';
const worker = new Worker(new URL('./thread-worker.mjs', import.meta.url));
process.once('SIGTERM', () => worker.postMessage('stop'));
worker.once('exit', (code) => process.exit(code));
`;

/** Files beside the programs. */
export const PARTS: Readonly<Record<string, string>> = {
  'cluster-worker.mjs': `${BOOK}${SERVER}${LISTENER}
import { createServer } from 'node:http';
import cluster from 'node:cluster';
run(createServer(listener));
process.once('SIGTERM', () => cluster.worker.disconnect());
`,
  'thread-worker.mjs': `${BOOK}${LISTENER}
import { createServer } from 'node:http';
import { parentPort } from 'node:worker_threads';
const server = createServer(listener);
server.listen(0, '127.0.0.1', () => console.log('listening ' + server.address().port));
parentPort.once('message', async () => {
  server.close();
  await book.close();
  server.closeIdleConnections();
});
`,
};

const DENO = ['deno', 'run', '--allow-all', '--node-modules-dir=manual', '--unstable-no-legacy-abort'];

const UNCOMPRESSED = 'the application has no middleware that compresses';

/** The hosts of the matrix. */
export const FRAMEWORK_HOSTS: readonly FrameworkHost[] = [
  {
    name: 'node:http',
    packages: ['compression'],
    code: withDatabase(
      `${BOOK}${SERVER}${LISTENER}import { createServer } from 'node:http';\nrun(createServer(listener));`,
    ),
    hasDatabase: true,
  },
  {
    name: 'HTTP/2',
    protocol: 'h2',
    code: `${BOOK}${SERVER}
import { createServer } from 'node:http2';
import { nodeHandler } from 'intentbook/node-http';
const handler = nodeHandler(book, { prefix: '/book' });
const server = createServer((request, response) => {
  for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
  if (isAllowed(request.method, request.headers.authorization)) handler(request, response);
  else response.writeHead(401).end();
});
const sessions = new Set();
server.on('session', (session) => void sessions.add(session).size);
process.once('SIGTERM', async () => {
  await book.close();
  for (const session of sessions) session.close();
});
run(server);`,
    skip: { compression: UNCOMPRESSED },
  },
  { name: 'cluster', packages: ['compression'], code: cluster },
  { name: 'worker_threads', packages: ['compression'], code: thread },
  { name: 'Express 4', packages: ['compression', 'express4'], code: express('express4') },
  {
    name: 'Express 5',
    packages: ['compression', 'express'],
    code: withDatabase(express('express')),
    hasDatabase: true,
  },
  {
    name: 'Fastify 5',
    packages: ['fastify'],
    code: withDatabase(fastify('')),
    hasDatabase: true,
    skip: { compression: UNCOMPRESSED },
  },
  {
    name: 'Fastify 5, @fastify/compress',
    packages: ['fastify'],
    installed: ['@fastify/compress@8'],
    code: fastify(`await app.register((await import('@fastify/compress')).default, { threshold: 0 });`),
  },
  {
    name: 'Koa 3',
    installed: ['koa@3', 'koa-bodyparser@4', 'koa-compress@5'],
    code: koa,
    skip: { compression: UNCOMPRESSED },
  },
  {
    name: 'Hono 4 on Node.js',
    installed: ['hono@4', '@hono/node-server@1'],
    code: withDatabase(hono(HONO_ON_NODE)),
    hasDatabase: true,
  },
  {
    name: 'NestJS 11',
    packages: ['compression', 'express'],
    installed: [
      '@nestjs/common@11',
      '@nestjs/core@11',
      '@nestjs/platform-express@11',
      'reflect-metadata@0.2',
      'rxjs@7',
    ],
    code: withDatabase(nest),
    hasDatabase: true,
    exitCode: null, // NestJS sends itself the signal again
  },
  {
    name: 'Lambda (serverless-http)',
    packages: ['express'],
    installed: ['serverless-http@3'],
    code: lambda,
    skip: {
      compression: 'the gateway compresses responses',
      'event stream': 'the adapter collects a response before it returns it',
      abort: 'a function has no connection of the client',
      shutdown: 'a function has no open stream, and its runtime stops it',
    },
  },
  {
    name: 'Bun',
    installed: ['bun@1'],
    command: ['bun'],
    code: `${FETCH}${bun('respond')}`,
    skip: { compression: UNCOMPRESSED },
  },
  { name: 'Hono 4 on Bun', installed: ['bun@1', 'hono@4'], command: ['bun'], code: hono(bun('app.fetch')) },
  {
    name: 'Deno',
    installed: ['deno@2'],
    command: DENO,
    code: `${FETCH}${deno('respond')}`,
    skip: { compression: UNCOMPRESSED },
  },
  { name: 'Hono 4 on Deno', installed: ['deno@2', 'hono@4'], command: DENO, code: hono(deno('app.fetch')) },
];
