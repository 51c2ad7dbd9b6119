import { AbortedError, type AbortState, type ReadOptions } from '../concurrency/abort.ts';
import { lazy } from '../concurrency/lifecycle.ts';
import { OrderBookError } from '../errors.ts';
import type { OrderBook } from '../order-book.ts';
import type { StoreError } from '../ports/store.ts';
import type { StreamOptions } from '../streams/index.ts';
import { invalidParameter } from '../validation/options.ts';
import { type CorsOption, createCors } from './cors.ts';
import { BYTES_PER_TOKEN, READ, type RouteCost } from './cost.ts';
import {
  type Api,
  type ApiRequest,
  type ApiResponse,
  type BodySize,
  joinHeaders,
  PREFLIGHT_HEADERS,
} from './message.ts';
import type { RateLimitOptions, RequestCost, RequestMeter } from './rate-limit.ts';
import { createRequestClient } from './request-client.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A request that matched a route of the order book interface. */
export interface Call {
  readonly book: OrderBook;
  readonly request: ApiRequest;
  /** Returns a path parameter, percent-decoded. */
  param(name: string): string;
  readonly query: URLSearchParams;
  /** The body as parsed JSON. `undefined` if the route reads no body. */
  readonly body: unknown;
  /** Options of reads: they end when the client disconnects, and their rows are charged. */
  readonly work: ReadOptions;
  /** Returns the client of the request, as the rate limit identifies it. */
  client(): string;
  /** Token that operators must present. `undefined`: operator routes are closed. */
  readonly operatorToken: string | undefined;
  /** Whether competitions are hidden until their deadline. */
  readonly hideCompetitions: boolean;
  /** Hook of the host for submissions. */
  readonly beforeSubmit: BeforeSubmit | undefined;
}

/** Decides about an order from the request that submits it. `order` is the body, not yet validated. */
export type BeforeSubmit = (order: unknown, context: { readonly request: ApiRequest }) => void | Promise<void>;

/** A method and a path. */
export interface Endpoint {
  readonly method: Method;
  /**
   * Path template. A segment that starts with a colon is one parameter, named by the rest of the segment. A literal
   * segment wins over a parameter.
   */
  readonly path: string;
  /** Cost of a request, and the factors that increase its work. */
  readonly cost: RouteCost;
  /** Whether a successful response is an event stream. The number of open streams per client is limited. */
  readonly stream?: boolean;
  /** Maximum size of the JSON body, in bytes. Absent: the route reads no body. */
  readonly bodyLimit?: number | ((book: OrderBook) => number);
  /** Rejects a body by its size, before it is parsed. */
  checkBody?(size: BodySize): void;
}

/** A route of the order book interface. */
export interface Route extends Endpoint {
  /** Runs before the body is read. Throws an `OrderBookError` to reject the request. */
  before?(call: Pick<Call, 'request' | 'operatorToken'>): void;
  /** Creates the response. A thrown `OrderBookError` becomes a rejection. */
  handle(call: Call): Promise<ApiResponse>;
}

/** Costs of the routes whose requests without a body all cost the same. */
const fixedCosts = new WeakMap<Endpoint, RequestCost>();

const UNKNOWN_ROUTE: RequestCost = { ...READ, tokens: 1, stream: false };

/** Returns the cost of a request to a route. `undefined` stands for a request that matches no route. */
export function getRequestCost(route: Endpoint | undefined, request: ApiRequest): RequestCost {
  if (route === undefined) return UNKNOWN_ROUTE;
  const known = fixedCosts.get(route);
  if (known !== undefined) return known;
  const { cost, stream = false, bodyLimit } = route;
  const { kind, rowsPerToken, bytesPerToken = BYTES_PER_TOKEN, isStoreRead = false, before } = cost;
  const common = { kind, stream, isStoreRead };
  const charged = rowsPerToken === undefined ? common : { ...common, rowsPerToken };
  const tokens = before?.(request) ?? 1;
  if (bodyLimit === undefined) {
    const result = { ...charged, tokens };
    if (before === undefined) fixedCosts.set(route, result);
    return result;
  }
  const bodyTokens = Math.floor(getDeclaredLength(request) / bytesPerToken);
  return { ...charged, tokens: tokens + bodyTokens, bodyTokens, bytesPerToken };
}

/** Returns the declared length of a body, in bytes, as far as it is read. 0 if it has none, as a body in chunks. */
function getDeclaredLength(request: ApiRequest): number {
  const text = request.header('content-length') ?? '';
  return /^\d+$/.test(text) ? Math.min(Number(text), COMPETITION_BODY_LIMIT) : 0;
}

/** Maximum size of a JSON body, in bytes. */
export const BODY_LIMIT = 64 * 1024;

/**
 * Maximum size of a body with a list of UIDs, in bytes. It allows lists above the limit to be counted and rejected; one
 * above `BODY_LIMIT` is never parsed.
 */
export const LIST_BODY_LIMIT = 1024 * 1024;

/**
 * Maximum size of a competition and of any body, in bytes: no more is read of one that is rejected. Each order takes
 * about 120 bytes, and 120 more in a solution.
 */
export const COMPETITION_BODY_LIMIT = 16 * 1024 * 1024;

/**
 * Returns the maximum size of a body with an app-data document, in bytes. JSON escapes a byte of the document with at
 * most six bytes.
 */
export function documentBodyLimit({ limits }: OrderBook): number {
  return Math.max(BODY_LIMIT, 6 * limits.maxAppDataSize + BODY_LIMIT / 4);
}

/** Returns the options of a stream that ends when the client disconnects. */
export function toStreamOptions(request: ApiRequest, after: number | undefined, work: ReadOptions): StreamOptions {
  const { client, meter } = work;
  const start = { ...(after !== undefined && { after }), ...cancellable(request) };
  return { ...start, ...(client !== undefined && { client }), ...(meter !== undefined && { meter }) };
}

/** Returns the options of a call that is cancelled when the client disconnects. */
export function cancellable({ signal }: ApiRequest): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

export interface Match<R extends Endpoint> {
  readonly route: R;
  /** Returns the text that a parameter matched, percent-encoded. */
  param(name: string): string;
}

export interface Router<R extends Endpoint> {
  /**
   * Finds a route. @throws OrderBookError `NotFound`, or `MethodNotAllowed` with the allowed methods in `data.allow`.
   */
  find(method: string, path: string): Match<R>;
  /** Returns whether a path has a route. */
  has(path: string): boolean;
}

/** A route and the names of its parameters, in the order of the path. */
interface RouteEntry<R> {
  readonly route: R;
  readonly names: readonly string[];
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  /** The length of the longest literal. */
  longest: number;
  parameter: Node<R> | undefined;
  readonly routes: Map<string, RouteEntry<R>>;
}

/** Creates a router. Empty segments are ignored, so a trailing slash makes no difference. */
export function createRouter<R extends Endpoint>(routes: readonly R[]): Router<R> {
  const root = createNode<R>();
  for (const route of routes) {
    let at = root;
    const segments = route.path.split('/').filter((segment) => segment !== '');
    for (const segment of segments) {
      if (segment.startsWith(':')) at = at.parameter ??= createNode<R>();
      else {
        const next = at.literals.get(segment) ?? createNode<R>();
        at.literals.set(segment, next);
        at.longest = Math.max(at.longest, segment.length);
        at = next;
      }
    }
    const names = segments.filter((segment) => segment.startsWith(':')).map((segment) => segment.slice(1));
    at.routes.set(route.method, { route, names });
  }

  return {
    find(method, path) {
      const values: string[] = [];
      const end = walk(root, path, 0, values);
      if (end === undefined) throw new OrderBookError('NotFound');
      const entry = end.routes.get(method === 'HEAD' ? 'GET' : method);
      if (entry === undefined) {
        const allow = [...end.routes.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
        throw new OrderBookError('MethodNotAllowed', undefined, { method, allow });
      }
      const { route, names } = entry;
      return { route, param: (name) => values[names.indexOf(name)] ?? '' };
    },
    has: (path) => walk(root, path, 0, []) !== undefined,
  };
}

/**
 * Finds the node at the end of a path. Reads the segments one after the other, because `split` takes most of the time
 * of a search.
 *
 * @param values - Receives the texts of the parameters.
 */
function walk<R>(at: Node<R>, path: string, from: number, values: string[]): Node<R> | undefined {
  let start = from;
  while (path[start] === '/') start++;
  if (start >= path.length) return at.routes.size > 0 ? at : undefined;
  const slash = path.indexOf('/', start);
  const end = slash < 0 ? path.length : slash;
  const segment = path.slice(start, end);
  // The hash of a long segment, such as a UID, takes longer than the rest of the search.
  const literal = segment.length > at.longest ? undefined : at.literals.get(segment);
  const found = literal && walk(literal, path, end, values);
  if (found !== undefined || at.parameter === undefined) return found;
  values.push(segment);
  const below = walk(at.parameter, path, end, values);
  if (below === undefined) values.pop();
  return below;
}

function createNode<R>(): Node<R> {
  return { literals: new Map(), longest: 0, parameter: undefined, routes: new Map() };
}

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
