import { AbortedError, type AbortState } from '../concurrency/abort.ts';
import { lazy } from '../concurrency/lazy.ts';
import { OrderBookError } from '../errors.ts';
import type { StoreError } from '../ports/store.ts';
import { invalidParameter } from '../validation/options.ts';
import { type CorsOption, createCors } from './cors.ts';
import type { Api, ApiRequest, ApiResponse } from './message.ts';
import type { RateLimitOptions, RequestMeter } from './rate-limit.ts';
import { createRequestClient } from './request-client.ts';
import { joinHeaders, PREFLIGHT_HEADERS } from './response.ts';
import { createRouter, type Endpoint, getRequestCost, type Match, type Router } from './route.ts';

export interface RouteHost<R extends Endpoint> {
  readonly routes: readonly R[];
  /** Handles a request that matched a route. May throw a rejection or a failure. `client` returns its client. */
  call(match: Match<R>, request: ApiRequest, client: () => string, meter: RequestMeter): Promise<ApiResponse>;
  /** Creates the response to a rejection. `undefined` for other errors. */
  reject(error: unknown): ApiResponse | undefined;
  /** Creates the response to any other error. */
  fail(error: unknown): ApiResponse;
  report(failure: unknown): void;
  readonly rateLimit: RateLimitOptions;
  /** Default: any origin. */
  readonly cors?: CorsOption | undefined;
}

/**
 * Creates an HTTP interface: routing, rate limiting, CORS, HEAD, OPTIONS and error responses.
 *
 * @throws TypeError naming a trusted proxy that is not an address or a range.
 */
export function serveRoutes<R extends Endpoint>(host: RouteHost<R>): Api {
  const router = createRouter(host.routes);
  const cors = createCors(host.cors);
  const getClient = createRequestClient(host.rateLimit);
  const { limiter } = host.rateLimit;
  // The code for a limiter is loaded with the first request.
  const guard =
    limiter &&
    lazy(async () => (await import('./limiter-guard.ts')).createLimiterGuard(limiter, getClient, host.report));
  const firstSegments = new Set(host.routes.map(({ path }) => firstSegment(path)));
  const hasChainSegment = firstSegments.has(CHAIN_SEGMENT);

  async function respond(request: ApiRequest): Promise<ApiResponse> {
    if (request.method === 'OPTIONS') return { status: 204, headers: host.cors === false ? {} : PREFLIGHT_HEADERS };
    try {
      const match = find(router, request);
      const run = (meter: RequestMeter) =>
        match instanceof OrderBookError
          ? import('./similar-route.ts').then(({ rejectRoute }) => rejectRoute(match, request.path, host.routes))
          : host.call(match, request, () => getClient(request), meter);
      if (guard === undefined) return await run({ rows: 0, bytes: 0 });
      // A request that matches no route is charged too.
      const cost = getRequestCost(match instanceof OrderBookError ? undefined : match.route, request);
      return await guard.use((admit) => admit(request, cost, run));
    } catch (error) {
      const rejection = host.reject(error);
      if (rejection !== undefined) return rejection;
      // A client that disconnects, and a request after the close, are no failures.
      if (!isCausedByDisconnect(request, error) && (error as StoreError | undefined)?.code !== 'Closed')
        host.report(error);
      return host.fail(error);
    }
  }

  return {
    handlesPath(path) {
      const segment = firstSegment(path);
      return firstSegments.has(segment) || (hasChainSegment && (/^\d+$/.test(segment) || router.has(path)));
    },
    async handle(request) {
      const full = await respond(request);
      const response = request.method === 'HEAD' ? await omitBody(full) : full;
      const { status } = response; // a spread would take longer than finding the route
      const body = watchBody(response.body, request, host.report);
      return {
        status,
        headers: joinHeaders(typeof cors === 'function' ? cors(request) : cors, response.headers),
        body,
      };
    },
  };
}

/** Returns a rejection instead of throwing it, since the rate limit comes first. */
function find<R extends Endpoint>(router: Router<R>, { method, path }: ApiRequest): Match<R> | OrderBookError {
  try {
    return router.find(method, path);
  } catch (error) {
    if (error instanceof OrderBookError) return error;
    throw error;
  }
}

function isCausedByDisconnect(request: ApiRequest, error: unknown): boolean {
  return isDisconnected(request) && (error instanceof AbortedError || error === request.signal?.reason);
}

/** Whether the client of a request has disconnected. Reads the signal only if necessary, because that creates it. */
export function isDisconnected(request: ApiRequest): boolean {
  return request.aborted ?? request.signal?.aborted ?? false;
}

/** Returns the state of a request's connection, for queues. Reading it is cheaper than creating a signal. */
export function connectionState(request: ApiRequest): AbortState {
  return new ConnectionState(request);
}

/** A class, because an object literal with a getter costs more than the rest of the routing. */
class ConnectionState implements AbortState {
  readonly #request: ApiRequest;

  constructor(request: ApiRequest) {
    this.#request = request;
  }

  get aborted(): boolean {
    return isDisconnected(this.#request);
  }
}

/** A first path segment that is a chain id. */
const CHAIN_SEGMENT = ':chainId';

/** Returns the first segment of a path. Several interfaces have paths below `/restricted`, so it has two segments. */
function firstSegment(path: string): string {
  return /(?:restricted\/)?[^/]+/.exec(path)?.[0] ?? '';
}

/**
 * Decodes a path parameter.
 *
 * @throws OrderBookError `InvalidParameter` if it is not percent-encoded UTF-8.
 */
export function decodeParam(name: string, text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidParameter(name, 'is not percent-encoded UTF-8');
  }
}

/** Reports the failure of a streamed body. The mount cuts the connection, so the client has no other sign of it. */
function watchBody(body: ApiResponse['body'], request: ApiRequest, report: (failure: unknown) => void) {
  if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) return body;
  return {
    [Symbol.asyncIterator]() {
      const iterator = body[Symbol.asyncIterator]();
      return {
        next: () =>
          iterator.next().catch((failure: unknown) => {
            if (!isCausedByDisconnect(request, failure)) report(failure);
            throw failure;
          }),
        return: async () => (await iterator.return?.()) ?? { done: true as const, value: undefined },
      };
    },
  };
}

/** Creates the response to HEAD: the headers of GET with the length of the body. A stream is ended. */
async function omitBody({ status, headers, body }: ApiResponse): Promise<ApiResponse> {
  const isStream = typeof body === 'object' && Symbol.asyncIterator in body;
  if (isStream) await body[Symbol.asyncIterator]().return?.();
  if (isStream || body === undefined) return { status, headers };
  return { status, headers: { ...headers, 'content-length': String(new Blob([body].flat()).size) } };
}

/** Returns the `Allow` header of a `MethodNotAllowed` rejection. */
export function allowHeader({ code, data }: OrderBookError): Record<string, string> {
  const allow = data?.['allow'];
  return code === 'MethodNotAllowed' && Array.isArray(allow) ? { allow: allow.join(', ') } : {};
}
