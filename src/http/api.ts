import { OrderBookError } from '../errors.ts';
import type { OrderBook } from '../order-book.ts';
import { assertKnownOptions } from '../validation/options.ts';
import { readJson } from './body.ts';
import type { Api, ApiRequest, ApiResponse } from './message.ts';
import type { RateLimitOptions } from './rate-limit.ts';
import { FAILURE_RESPONSE, rejectionResponse } from './response.ts';
import type { Route } from './route.ts';
import type { Match } from './router.ts';
import { ORDER_BOOK_ROUTES } from './routes/index.ts';
import { PROBE_ROUTES } from './routes/system.ts';
import { allowHeader, decodeParam, serveRoutes } from './serve.ts';

/** Options of a book's HTTP interface. */
export interface ApiOptions extends RateLimitOptions {
  /** Whether the interface also serves `/ready` and `/live`, for a standalone server. Default: false. */
  readonly probes?: boolean;
  /**
   * Token of the routes under `/restricted`: `Authorization: Bearer <token>`, without blanks. Default: those routes
   * reject every request.
   */
  readonly operatorToken?: string;
}

/**
 * Creates the HTTP interface of a book: a function from plain requests to plain responses. Paths are relative to the
 * mount's prefix. See docs/reference/http.md.
 */
export function createApi(book: OrderBook, options: ApiOptions = {}): Api {
  assertKnownOptions('createApi', options, ['probes', 'operatorToken', 'limiter', 'trustedProxies']);
  return serveRoutes({
    routes: options.probes ? [...ORDER_BOOK_ROUTES, ...PROBE_ROUTES] : ORDER_BOOK_ROUTES,
    rateLimit: options,
    call: (match, request) => call(book, request, match, options.operatorToken),
    reject: (error) => (error instanceof OrderBookError ? rejectionResponse(error, allowHeader(error)) : undefined),
    failure: FAILURE_RESPONSE,
    report: book.reportError,
  });
}

async function call(
  book: OrderBook,
  request: ApiRequest,
  { route, param }: Match<Route>,
  operatorToken: string | undefined,
): Promise<ApiResponse> {
  route.before?.({ request, operatorToken });
  const limit = typeof route.bodyLimit === 'function' ? route.bodyLimit(book) : route.bodyLimit;
  const body = limit === undefined ? undefined : await readJson(request, limit);
  return route.handle({
    book,
    request,
    body,
    operatorToken,
    query: request.query === '' ? NO_QUERY : new URLSearchParams(request.query),
    param: (name) => decodeParam(name, param(name)),
  });
}

/** Shared by requests without a query: creating `URLSearchParams` costs more than the rest of the routing. */
const NO_QUERY = /* @__PURE__ */ new URLSearchParams();
