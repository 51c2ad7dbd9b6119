import {
  type Api,
  type ApiRequest,
  type ApiRequestBody,
  type ApiResponse,
  OrderBookError,
  type RateLimitOptions,
} from 'intentbook';
import { CORS_HEADERS, chargePage, createOpenStreams, PREFLIGHT_HEADERS, rejectionResponse } from '#internal';
import type { KeyGuard } from './api-keys.ts';
import { createExchange, type Exchange, requestId } from './exchange.ts';

/** An interface and its path: `/`, or a path without a trailing slash. */
export interface Mounted {
  readonly path: string;
  readonly api: Api;
  /** Whether it is not a book, and so not listed in the 404 response. */
  readonly aside?: boolean;
}

/** A response for one exact path, to GET and HEAD. */
export type Page = (request: ApiRequest) => Promise<ApiResponse> | ApiResponse;

/** Charges pages to their clients. */
export const chargePages = (pages: Readonly<Record<string, Page>>, rateLimit: RateLimitOptions) =>
  Object.fromEntries(Object.entries(pages).map(([path, page]): [string, Page] => [path, chargePage(page, rateLimit)]));

export interface ServerApiOptions {
  readonly mounted: readonly Mounted[];
  readonly pages: Readonly<Record<string, Page>>;
  /** Called after every response. Must not throw. */
  readonly onExchange?: (exchange: Exchange, request: ApiRequest) => void;
  /** Returns the client of a request, for `onExchange`. Default: the remote address of the socket. */
  readonly getClient?: (request: ApiRequest) => string;
  /** Rejects requests with unknown API keys. Pages are not checked. Default: no request is rejected. */
  readonly guard?: KeyGuard;
}

/** The HTTP interface of a server. */
export interface ServerApi extends Api {
  /** Ends all open streams and every later one. */
  closeStreams(): void;
  readonly openStreams: number;
}

/**
 * Combines interfaces and pages. A page wins over an interface, a longer path over a shorter one. Of interfaces at the
 * same path, the first that handles a request wins. Every response has the CORS headers and a request id.
 */
export function createServerApi({ mounted, pages, onExchange, getClient, guard }: ServerApiOptions): ServerApi {
  const find = createFinder(mounted);
  const streams = createOpenStreams();

  async function respond(request: ApiRequest): Promise<ApiResponse> {
    if (request.method === 'OPTIONS') return { status: 204, headers: PREFLIGHT_HEADERS };
    const name = removeTrailingSlashes(request.path) || '/';
    const page = Object.hasOwn(pages, name) ? pages[name] : undefined;
    return page === undefined ? ((await guard?.(request)) ?? find(request)) : show(page, request);
  }

  return {
    get openStreams() {
      return streams.size;
    },
    closeStreams: streams.close,
    async handle(request) {
      const since = performance.now();
      const { status, headers, body } = await respond(request);
      const id = requestId(request);
      const client = getClient === undefined ? request.remoteAddress : getClient(request);
      const response = { status, headers, ...(body === undefined ? {} : { body }) };
      onExchange?.(createExchange({ id, client, since }, request, response), request);
      return {
        status,
        headers: { ...CORS_HEADERS, ...headers, 'x-request-id': id },
        ...(body === undefined ? {} : { body: streams.track(response) }),
      };
    },
  };
}

/** Removes slashes at the end of a path. A regular expression would take quadratic time for many slashes elsewhere. */
export function removeTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** Creates a function that passes a request to the interface of its path. Other paths are rejected. */
function createFinder(mounted: readonly Mounted[]): (request: ApiRequest) => Promise<ApiResponse> {
  const byLength = [...mounted].sort((a, b) => b.path.length - a.path.length);
  const served = byLength
    .filter(({ aside }) => aside !== true)
    .map(({ path }) => path)
    .reverse();

  return async (request) => {
    for (const { path, api } of byLength) {
      const prefix = path === '/' ? '' : path;
      const isInside = request.path === prefix || request.path.startsWith(`${prefix}/`);
      if (isInside && (prefix !== '' || api.handlesPath?.(request.path) !== false)) {
        return api.handle(
          prefix === '' ? request : new PrefixedRequest(request, request.path.slice(prefix.length) || '/'),
        );
      }
    }
    const root = byLength.find(({ path, aside }) => path === '/' && aside !== true);
    if (root !== undefined) return root.api.handle(request);
    const data = { path: request.path, served };
    const reason = `nothing is served at this path; the books have the paths ${served.join(', ')}`;
    return rejectionResponse(new OrderBookError('NotFound', reason, data));
  };
}

async function show(page: Page, request: ApiRequest): Promise<ApiResponse> {
  const allow = ['GET', 'HEAD'];
  if (allow.includes(request.method)) return page(request);
  const error = new OrderBookError('MethodNotAllowed', undefined, { method: request.method, allow });
  return rejectionResponse(error, { allow: allow.join(', ') });
}

/** A request for an interface below a path: the original request with the remaining path. */
class PrefixedRequest implements ApiRequest {
  readonly path: string;
  readonly #request: ApiRequest;

  constructor(request: ApiRequest, path: string) {
    this.path = path;
    this.#request = request;
  }

  get method(): string {
    return this.#request.method;
  }

  get query(): string {
    return this.#request.query;
  }

  get body(): ApiRequestBody {
    return this.#request.body;
  }

  get aborted(): boolean | undefined {
    return this.#request.aborted;
  }

  get signal(): AbortSignal | undefined {
    return this.#request.signal;
  }

  get remoteAddress(): string | undefined {
    return this.#request.remoteAddress;
  }

  get allocate(): ApiRequest['allocate'] {
    return this.#request.allocate;
  }

  readonly header = (name: string): string | undefined => this.#request.header(name);
}
