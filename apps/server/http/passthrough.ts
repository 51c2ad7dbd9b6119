import type { Api, ApiRequest, ApiResponse, RateLimitOptions } from 'intentbook';
import { OrderBookError } from 'intentbook';
import {
  allowHeader,
  createRequestClient,
  failureResponse,
  jsonResponse,
  readJson,
  readResponseText,
  rejectionResponse,
} from '#internal';
import type { ParsedSettings } from '../settings/schema.ts';
import type { Mounted } from './server-api.ts';

/** A service that requests are passed on to. */
type Passthrough = ParsedSettings['passthroughs'][string];

/** Maximum size of a body and of a response, in bytes. */
const MAX_REQUEST = 64 * 1024;
const MAX_RESPONSE = 8 * 1024 * 1024;

/** Milliseconds that a service may take. */
const TIMEOUT = 10_000;

/** A segment of a path that needs no decoding, and is not a step in the tree. */
const SEGMENT = /^(?!\.{1,2}$)[\w.~:@!$&'()*+,;=-]+$/;

/** Creates the interfaces that pass requests on to other services. */
export function createPassthroughs(
  services: ParsedSettings['passthroughs'],
  gate: RateLimitOptions,
  onFailure: (failure: unknown) => void,
): Mounted[] {
  return Object.entries(services).map(([path, service]) => ({
    path,
    api: createPassthrough(service, gate, onFailure),
    aside: true,
  }));
}

function createPassthrough(service: Passthrough, gate: RateLimitOptions, onFailure: (failure: unknown) => void): Api {
  const { methods = ['GET'], origins } = service;
  const allowed = service.allow.map((path) => path.split('/'));
  const getClient = createRequestClient(gate);

  /** Returns the URL of the service. @throws OrderBookError if the request is not allowed. */
  async function admit(request: ApiRequest): Promise<URL> {
    const { method, path, query } = request;
    // A paid service is charged as an estimate is.
    const admission = await gate.limiter?.take(getClient(request), 'write', 1);
    if (admission?.status === 'rejected')
      throw new OrderBookError('RateLimited', undefined, { retryAfter: admission.retryAfter ?? 1 });
    const segments = path.split('/').slice(1);
    const isAllowed = allowed.some(
      (pattern) => pattern.length === segments.length && pattern.every((each, i) => matches(each, segments[i] ?? '')),
    );
    if (!isAllowed) throw new OrderBookError('NotFound', 'this path is not passed on', { path });
    if (!methods.some((each) => each === method))
      throw new OrderBookError('MethodNotAllowed', undefined, { method, allow: methods });
    if (origins !== undefined && !origins.includes(request.header('origin') ?? ''))
      throw new OrderBookError('Forbidden', 'this origin may not use the service');
    const url = new URL(service.url);
    url.pathname = [url.pathname.replace(/\/+$/, ''), ...segments.filter((segment) => segment !== '')].join('/');
    url.search = [url.search.slice(1), query].filter((part) => part !== '').join('&');
    return url;
  }

  async function pass(request: ApiRequest): Promise<ApiResponse> {
    const url = await admit(request);
    const { method } = request;
    const body = method === 'POST' ? await readBody(request) : undefined;
    const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) };
    const timeout = AbortSignal.timeout(TIMEOUT);
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...service.headers },
      ...(body === undefined ? {} : { body }),
      redirect: 'error',
      signal: request.signal === undefined ? timeout : AbortSignal.any([request.signal, timeout]),
    });
    const text = await readResponseText(response, MAX_RESPONSE);
    const caching =
      service.maxAge !== undefined && response.status === 200
        ? `public, max-age=${service.maxAge}`
        : response.headers.get('cache-control');
    return {
      status: response.status,
      headers: {
        // Never a page: a browser would run it as one of this server.
        'content-type': isJson(response) ? 'application/json' : 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
        ...(caching === null ? {} : { 'cache-control': caching }),
      },
      body: text,
    };
  }

  return {
    async handle(request) {
      try {
        return await pass(request);
      } catch (error) {
        if (error instanceof OrderBookError) return rejectionResponse(error, allowHeader(error));
        if (request.signal?.aborted === true) return failureResponse(error);
        onFailure(new Error(`${new URL(service.url).host} does not respond`, { cause: error }));
        return jsonResponse(503, { message: 'The service does not respond' }, { 'cache-control': 'no-store' });
      }
    },
  };
}

/** Reads a JSON body. Returns the bytes that were received: numbers could change if they were parsed. */
async function readBody(request: ApiRequest) {
  const { method, path, query, body } = request;
  if (body.type !== 'chunks') return JSON.stringify(await readJson(request, { limit: MAX_REQUEST }));
  const { chunks } = body;
  const parts: Uint8Array[] = [];
  async function* record() {
    for await (const chunk of chunks) {
      parts.push(chunk);
      yield chunk;
    }
  }
  const header = (name: string) => request.header(name);
  const recorded = { method, path, query, header, body: { type: 'chunks', chunks: record() } } as const;
  await readJson(recorded, { limit: MAX_REQUEST });
  return Buffer.concat(parts);
}

const matches = (pattern: string, segment: string) => (pattern === '*' ? SEGMENT.test(segment) : segment === pattern);

const isJson = ({ headers }: Response) =>
  /^application\/(?:[^;,\s]+\+)?json\b/i.test(headers.get('content-type') ?? '');
