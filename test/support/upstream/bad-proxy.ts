import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createReplica } from './replica.ts';

/** What happens to a request, or to its response. */
export const FAULTS = [
  /** Nothing. */
  'none',
  /** The request reaches the book later. */
  'delay',
  /** The connection is cut before the request has reached the book. */
  'cut-before',
  /** The connection is cut after the book has responded. */
  'cut-after',
  /** The book receives the request twice; the response is the first or the second one. */
  'duplicate',
  'duplicate-second',
  /** The edge responds; the book receives nothing. */
  '402',
  '429',
  '403',
  '302',
  '502',
  '503',
  '504',
  /** Status 200 with a page, an empty body, or a bomb of compressed spaces; the book receives nothing. */
  'html',
  'empty',
  'bomb',
  /** The book receives the request after the response with status 504. */
  '504-late',
  /** The book has responded, but the response has status 502, or is cut JSON. */
  '502-after',
  'truncated',
  /** A read of an earlier state: see `lag`. */
  'stale',
] as const;
export type Fault = (typeof FAULTS)[number];

/** The class of a request, as `UpstreamClass`. */
export type ProxyClass = 'read' | 'write' | 'quote' | 'other';

export interface BadProxyOptions {
  /** URL of the book behind the proxy. */
  readonly target: string;
  /** Decides the faults together with `faults`. Default: 1. */
  readonly seed?: number;
  /** Probability of each fault, from 0 to 1. Default: none. */
  readonly faults?: Partial<Record<Fault, number>>;
  /** Longest delay of `delay`, and the delay of `504-late`, in milliseconds. Default: 20. */
  readonly maxDelay?: number;
  /** Number of later requests that a stale read does not know. Default: 10. */
  readonly lag?: number;
  /** `Retry-After` of 402, 429, 403, 302 and 503. Default: none. */
  readonly retryAfter?: string;
}

export interface ProxyRequest {
  readonly class: ProxyClass;
  readonly method: string;
  readonly path: string;
  readonly fault: Fault;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface BadProxy {
  readonly url: string;
  /** The next requests of a class have these faults, before those of the seed. Default: of any class. */
  next(fault: Fault, name?: ProxyClass): void;
  /** Cuts every connection until `false`, like a host that is down. */
  setDown(isDown: boolean): void;
  /** Replaces the probabilities. */
  setFaults(faults: Partial<Record<Fault, number>>): void;
  readonly requests: readonly ProxyRequest[];
  /** Number of requests of each class. */
  readonly counts: Readonly<Record<ProxyClass, number>>;
  /** Number of requests that have reached the book. */
  readonly forwarded: number;
  /** Largest number of requests that were under way at once. */
  readonly maxUnderWay: number;
  close(): Promise<void>;
}

const PAGE = '<html><head><title>ERROR</title></head><body>The request could not be satisfied.</body></html>';
/** 64 MiB of spaces: valid JSON is never reached. */
const BOMB_SIZE = 2 ** 26;

/** A response of the book, or of the edge. */
interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Starts a proxy that mistreats requests as scripted by `next`, and by a seed. */
export async function startBadProxy(options: BadProxyOptions): Promise<BadProxy> {
  const { target, seed = 1, maxDelay = 20, lag = 10, retryAfter } = options;
  const random = createRandom(seed);
  const requests: ProxyRequest[] = [];
  const scripted: { readonly fault: Fault; readonly name: ProxyClass | undefined }[] = [];
  const counts = { read: 0, write: 0, quote: 0, other: 0 };
  const replica = createReplica(lag);
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let { faults = {} } = options;
  let [forwarded, underWay, maxUnderWay, isDown] = [0, 0, 0, false];
  let bomb: Buffer | undefined;

  function draw(name: ProxyClass): Fault {
    const index = scripted.findIndex((each) => each.name === undefined || each.name === name);
    if (index >= 0) return scripted.splice(index, 1)[0]?.fault ?? 'none';
    let rest = random();
    for (const [fault, probability] of Object.entries(faults)) {
      rest -= probability;
      if (rest < 0) return fault as Fault; // a key of the options
    }
    return 'none';
  }

  const wait = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(() => resolve(void timers.delete(timer)), ms);
      timers.add(timer);
    });

  async function forward(request: IncomingMessage, body: Buffer): Promise<Response> {
    forwarded++;
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) {
      if (!HOP_BY_HOP.has(name)) headers.set(name, String(value));
    }
    const { method = 'GET' } = request;
    const content = method === 'GET' || body.length === 0 ? {} : { body: new Uint8Array(body) };
    return fetch(`${target}${request.url}`, { method, headers, redirect: 'manual', ...content });
  }

  async function read(response: Response): Promise<Reply> {
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !HOP_BY_HOP.has(name)));
    return { status: response.status, headers, body: Buffer.from(await response.arrayBuffer()) };
  }

  /** Returns the response of the edge, for a fault of which the book receives nothing. */
  function createEdgeReply(fault: Fault): Reply | undefined {
    const headers = { 'content-type': 'text/html', server: 'CloudFront' };
    const wanted = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
    switch (fault) {
      case '402':
      case '429':
      case '503':
      case '403':
        return { status: Number(fault), headers: { ...headers, ...wanted }, body: Buffer.from(PAGE) };
      case '302':
        return { status: 302, headers: { ...headers, ...wanted, location: '/maintenance' }, body: Buffer.from(PAGE) };
      case '502':
      case '504':
      case '504-late':
        return { status: Number(fault.slice(0, 3)), headers, body: Buffer.from(PAGE) };
      case 'html':
        return { status: 200, headers, body: Buffer.from(PAGE) };
      case 'empty':
        return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.alloc(0) };
      case 'bomb':
        bomb ??= gzipSync(Buffer.alloc(BOMB_SIZE, ' '), { level: 9 });
        return { status: 200, headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body: bomb };
      default:
        return undefined;
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/' } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const name = getClass(method, path);
    const fault = draw(name);
    counts[name]++;
    requests.push({ class: name, method, path, fault, at: Date.now() });
    const number = requests.length;

    if (fault === 'cut-before') return void response.destroy();
    const edge = createEdgeReply(fault);
    if (edge !== undefined) {
      send(response, edge);
      if (fault !== '504-late') return;
      await wait(maxDelay);
      await forward(request, body).then(read);
      return;
    }
    if (fault === 'stale' && name === 'read') {
      const old = replica.read(number, path, body.toString());
      return send(response, { status: old.status, headers: JSON_TYPE, body: Buffer.from(old.text) });
    }
    if (fault === 'delay') await wait(random() * maxDelay);
    const first = await forward(request, body);
    if (/event-stream/.test(first.headers.get('content-type') ?? '')) return relayStream(first, response, fault);
    let reply = await read(first);
    if (fault === 'duplicate' || fault === 'duplicate-second') {
      const second = await forward(request, body).then(read);
      if (fault === 'duplicate-second') reply = second;
    }
    if (name === 'read' && reply.status === 200) replica.record(number, path, body.toString(), reply.body.toString());
    if (fault === 'cut-after') return void response.destroy();
    if (fault === '502-after') return send(response, { status: 502, headers: {}, body: Buffer.from(PAGE) });
    if (fault === 'truncated') reply = { ...reply, body: reply.body.subarray(0, Math.floor(reply.body.length / 2)) };
    send(response, reply);
  }

  const server = createServer((request, response) => {
    if (isDown) return void request.socket.destroy();
    underWay++;
    maxUnderWay = Math.max(maxUnderWay, underWay);
    response.once('close', () => underWay--);
    // A client may cut its request, and the book may be closed.
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // of a TCP server
    next: (fault, name) => void scripted.push({ fault, name }),
    setDown(down) {
      isDown = down;
      if (down) server.closeAllConnections();
    },
    setFaults(next) {
      faults = next;
    },
    requests,
    counts,
    get forwarded() {
      return forwarded;
    },
    get maxUnderWay() {
      return maxUnderWay;
    },
    close() {
      for (const timer of timers) clearTimeout(timer);
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Headers of one connection, and those that the decoded body no longer has. */
const HOP_BY_HOP = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
]);

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, headers);
  response.end(body);
}

/** Relays an event stream. `cut-after` and `truncated` cut it after its first part. */
async function relayStream(from: Response, response: ServerResponse, fault: Fault): Promise<void> {
  response.writeHead(from.status, { 'content-type': 'text/event-stream' });
  const reader = from.body?.getReader();
  response.once('close', () => void reader?.cancel());
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    response.write(part.value);
    if (fault === 'cut-after' || fault === 'truncated') return void response.destroy();
  }
  response.end();
}

/** Returns the class of a request. */
function getClass(method: string, path: string): ProxyClass {
  if (/\/quote(\/stream)?$/.test(path)) return 'quote';
  if (/\/orders\/by_uids$/.test(path) || method === 'GET') return 'read';
  return /\/orders(\/0x\w+)?$/.test(path) ? 'write' : 'other';
}

/** Creates numbers from 0 to 1 that a seed determines (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}
