import { assertNotAborted } from '../concurrency/abort.ts';
import { OrderBookError } from '../errors.ts';
import type { OrderBook } from '../order-book.ts';
import { formatValue } from '../protocol/format-value.ts';
import { assertFunctions, assertKnownOptions, requireFunction } from '../validation/options.ts';
import type { CorsOption } from './cors.ts';
import { type Api, failureResponse, readJson, rejectionResponse } from './message.ts';
import type { RateLimitOptions } from './rate-limit.ts';
import {
  allowHeader,
  type BeforeSubmit,
  connectionState,
  decodeParam,
  type Match,
  type Route,
  serveRoutes,
} from './route.ts';
import { ORDER_BOOK_ROUTES } from './routes/index.ts';
import { PROBE_ROUTES } from './routes/system.ts';

/** Options of a book's HTTP interface. */
export interface ApiOptions extends RateLimitOptions {
  /** Whether the interface also serves `/ready` and `/live`, for a standalone server. Default: false. */
  readonly probes?: boolean;
  /**
   * Token of the routes under `/restricted`: `Authorization: Bearer <token>`, without blanks. Default: those routes
   * reject every request.
   */
  readonly operatorToken?: string;
  /**
   * Whether the public routes of competitions show a solver competition only after its deadline block. The route under
   * `/restricted` shows all, and the status of an order always has its solutions. Default: false.
   */
  readonly hideCompetitions?: boolean;
  /**
   * Called before an order of `POST /api/v1/orders` is validated, for example to authenticate the request. A thrown
   * `OrderBookError`, such as `Forbidden`, rejects the order; any other error is a failure. Default: none.
   */
  readonly beforeSubmit?: BeforeSubmit;
  /**
   * Which web origins may read responses, for an application that sets no CORS headers. `false`: the interface sets
   * none, for an application that does. Default: any origin.
   */
  readonly cors?: CorsOption;
}

/**
 * Creates the HTTP interface of a book: a function from plain requests to plain responses. Paths are relative to the
 * mount's prefix. See docs/reference/http.md.
 *
 * @throws TypeError for an unknown option, or for a value that is not a book, such as one that was not awaited.
 */
export function createApi(book: OrderBook, options: ApiOptions = {}): Api {
  assertKnownOptions('createApi', options, [
    'probes',
    'operatorToken',
    'hideCompetitions',
    'beforeSubmit',
    'cors',
    'limiter',
    'trustedProxies',
    'identifyClient',
  ]);
  assertFunctions('createApi: limiter', options.limiter, ['take', 'open']);
  if (typeof (book as OrderBook | undefined)?.orders?.submit !== 'function') {
    throw new TypeError(`createApi: book must be an order book, got ${formatValue(book)}`);
  }
  const { operatorToken, hideCompetitions = false, beforeSubmit } = options;
  if (beforeSubmit !== undefined) requireFunction('createApi: beforeSubmit', beforeSubmit);
  return serveRoutes({
    routes: options.probes ? [...ORDER_BOOK_ROUTES, ...PROBE_ROUTES] : ORDER_BOOK_ROUTES,
    rateLimit: options,
    cors: options.cors,
    async call({ route, param }: Match<Route>, request, client, meter) {
      route.before?.({ request, operatorToken });
      const limit = typeof route.bodyLimit === 'function' ? route.bodyLimit(book) : route.bodyLimit;
      const body = limit === undefined ? undefined : await readJson(request, { limit, meter, check: route.checkBody });
      const signal = connectionState(request);
      assertNotAborted(signal);
      return route.handle({
        book,
        request,
        body,
        client,
        work: { signal, meter, client },
        operatorToken,
        hideCompetitions,
        beforeSubmit,
        query: request.query === '' ? NO_QUERY : new URLSearchParams(request.query),
        param: (name) => decodeParam(name, param(name)),
      });
    },
    reject: (error) => (error instanceof OrderBookError ? rejectionResponse(error, allowHeader(error)) : undefined),
    fail: failureResponse,
    report: book.reportError,
  });
}

/** Shared by requests without a query: creating `URLSearchParams` costs more than the rest of the routing. */
const NO_QUERY = /* @__PURE__ */ new URLSearchParams();
