import type { OrderBook } from '../engine.ts';
import { OrderBookError } from '../errors.ts';
import { refuseUnknownOptions } from '../options.ts';
import { readJson } from './body.ts';
import { CORS_HEADERS, PREFLIGHT_HEADERS } from './cors.ts';
import type { GateOptions } from './gate.ts';
import { createGate } from './gate.ts';
import type { Api, ApiRequest, ApiResponse } from './message.ts';
import { FAULT, refusal } from './response.ts';
import { tollOf } from './route.ts';
import type { Match, Router } from './router.ts';
import { createRouter } from './router.ts';
import { ORDER_BOOK_ROUTES, PROBE_ROUTES } from './routes/index.ts';

export interface ApiOptions extends GateOptions {
  /** Whether `/ready` and `/live` are answered too, for a server that is nobody's guest. Default false. */
  readonly probes?: boolean;
}

/**
 * The HTTP interface of a book, as a function from plain requests to plain responses (contract, "Endpoints"). Paths are
 * relative: whoever mounts it takes the prefix off.
 */
export function createApi(book: OrderBook, options: ApiOptions = {}): Api {
  refuseUnknownOptions('createApi', options, ['probes', 'limiter', 'trustedProxies']);
  const gate = createGate(options, book.report);
  const routes = options.probes ? [...ORDER_BOOK_ROUTES, ...PROBE_ROUTES] : ORDER_BOOK_ROUTES;
  const router = createRouter(routes);
  const spaces = new Set(routes.map(({ path }) => firstSegment(path)));

  async function answer(request: ApiRequest): Promise<ApiResponse> {
    if (request.method === 'OPTIONS') return { status: 204, headers: PREFLIGHT_HEADERS };
    try {
      const match = find(router, request);
      // What is not found costs too.
      return await gate(request, tollOf(match instanceof OrderBookError ? undefined : match.route), async () => {
        if (match instanceof OrderBookError) throw match;
        return call(book, request, match);
      });
    } catch (error) {
      if (error instanceof OrderBookError) return refusal(error, allowHeader(error));
      // Who has left asked for the work to stop; that it did is no fault.
      if (error !== request.signal?.reason || !request.signal?.aborted) book.report(error);
      return FAULT;
    }
  }

  return {
    owns: (path) => spaces.has(firstSegment(path)),
    async handle(request) {
      const response = await answer(request);
      const headers = { ...CORS_HEADERS, ...response.headers };
      return request.method === 'HEAD' ? await bodiless({ ...response, headers }) : { ...response, headers };
    },
  };
}

/** A refusal here is kept until the gate has been passed. */
function find(router: Router, { method, path }: ApiRequest): Match | OrderBookError {
  try {
    return router.find(method, path);
  } catch (error) {
    if (error instanceof OrderBookError) return error;
    throw error;
  }
}

async function call(book: OrderBook, request: ApiRequest, { route, params }: Match): Promise<ApiResponse> {
  const limit = typeof route.bodyLimit === 'function' ? route.bodyLimit(book) : route.bodyLimit;
  const body = limit === undefined ? undefined : await readJson(request, limit);
  return route.handle({
    ...{ book, request, body },
    query: new URLSearchParams(request.query),
    param: (name) => decodeParam(name, params[name] ?? ''),
  });
}

function firstSegment(path: string): string {
  return /[^/]+/.exec(path)?.[0] ?? '';
}

function decodeParam(name: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new OrderBookError('InvalidParameter', `${name}: is not percent-encoded UTF-8`, { parameter: name });
  }
}

/** HEAD answers what GET would, with the length of the body that it leaves out. A stream is ended. */
async function bodiless({ status, headers, body }: ApiResponse): Promise<ApiResponse> {
  if (typeof body === 'object' && Symbol.asyncIterator in body) await body[Symbol.asyncIterator]().return?.();
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return { status, headers };
  const length = typeof body === 'string' ? new TextEncoder().encode(body).length : body.length;
  return { status, headers: { ...headers, 'content-length': String(length) } };
}

function allowHeader({ code, data }: OrderBookError): Record<string, string> {
  const allow = data?.['allow'];
  return code === 'MethodNotAllowed' && Array.isArray(allow) ? { allow: allow.join(', ') } : {};
}
