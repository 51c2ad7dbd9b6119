import type { Api, ApiRequest, ApiRequestBody, ApiResponse } from 'intentbook';
import { OrderBookError } from 'intentbook';
import { CORS_HEADERS, PREFLIGHT_HEADERS, rejectionResponse } from '#internal';

/** An interface and its path: `/`, or a path without a trailing slash. */
export interface Mounted {
  readonly path: string;
  readonly api: Api;
  /** Whether it is not a book, and so not listed in the 404 response. */
  readonly aside?: boolean;
}

/** A response for one exact path, to GET and HEAD. */
export type Page = (request: ApiRequest) => Promise<ApiResponse> | ApiResponse;

/**
 * Combines interfaces and pages. A page wins over an interface, a longer path over a shorter one. Of interfaces at the
 * same path, the first that handles a request wins.
 */
export function composeServer(mounted: readonly Mounted[], pages: Readonly<Record<string, Page>>): Api {
  const byLength = [...mounted].sort((a, b) => b.path.length - a.path.length);
  const served = byLength
    .filter(({ aside }) => aside !== true)
    .map(({ path }) => path)
    .reverse();

  function find({ path: requested }: ApiRequest): { readonly api: Api; readonly path: string } | undefined {
    for (const { path, api } of byLength) {
      const prefix = path === '/' ? '' : path;
      const inside = requested === prefix || requested.startsWith(`${prefix}/`);
      if (inside && (prefix !== '' || api.handlesPath?.(requested) !== false)) {
        return { api, path: requested.slice(prefix.length) || '/' };
      }
    }
    return undefined;
  }

  return {
    async handle(request) {
      const name = request.path.replace(/\/+$/, '') || '/';
      const page = Object.hasOwn(pages, name) ? pages[name] : undefined;
      if (page !== undefined) return shared(request, await show(page, request));
      const match = find(request);
      if (match !== undefined) return match.api.handle(new PrefixedRequest(request, match.path));
      const data = { path: request.path, served };
      return shared(request, rejectionResponse(new OrderBookError('NotFound', 'nothing is served at this path', data)));
    },
  };
}

async function show(page: Page, request: ApiRequest): Promise<ApiResponse> {
  const allow = ['GET', 'HEAD'];
  if (allow.includes(request.method)) return page(request);
  const error = new OrderBookError('MethodNotAllowed', undefined, { method: request.method, allow });
  return rejectionResponse(error, { allow: allow.join(', ') });
}

/** Adds the headers that every response has. See docs/internals/decisions.md#d1-17. */
function shared({ method }: ApiRequest, answer: ApiResponse): ApiResponse {
  if (method === 'OPTIONS') return { status: 204, headers: { ...CORS_HEADERS, ...PREFLIGHT_HEADERS } };
  return { ...answer, headers: { ...CORS_HEADERS, ...answer.headers } };
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

  readonly header = (name: string): string | undefined => this.#request.header(name);
}
