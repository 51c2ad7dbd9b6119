import type { Api, ApiRequest, ApiRequestBody, ApiResponse } from 'intentbook';
import { OrderBookError } from 'intentbook';
import { CORS_HEADERS, PREFLIGHT_HEADERS, rejectionResponse } from '#internal';

/** An interface and where it stands: `/`, or a path without a slash at its end. */
export interface Mounted {
  readonly path: string;
  readonly api: Api;
  /** Whether it is no book, and so not named to who looks for one. */
  readonly aside?: boolean;
}

/** An answer for one exact path, to GET and HEAD. */
export type Page = (request: ApiRequest) => Promise<ApiResponse> | ApiResponse;

/**
 * Makes one interface of several and of some pages. A page wins over an interface, a longer path over a shorter one; of
 * interfaces at the same place the first that owns the path answers.
 */
export function composeServer(mounted: readonly Mounted[], pages: Readonly<Record<string, Page>>): Api {
  const byLength = [...mounted].sort((a, b) => b.path.length - a.path.length);
  const served = byLength
    .filter(({ aside }) => aside !== true)
    .map(({ path }) => path)
    .reverse();

  function find({ path: asked }: ApiRequest): { readonly api: Api; readonly path: string } | undefined {
    for (const { path, api } of byLength) {
      const prefix = path === '/' ? '' : path;
      const inside = asked === prefix || asked.startsWith(`${prefix}/`);
      if (inside && (prefix !== '' || api.handlesPath?.(asked) !== false)) {
        return { api, path: asked.slice(prefix.length) || '/' };
      }
    }
    return undefined;
  }

  return {
    async handle(request) {
      const name = request.path.replace(/\/+$/, '') || '/';
      const page = Object.hasOwn(pages, name) ? pages[name] : undefined;
      if (page !== undefined) return shared(request, await show(page, request));
      const found = find(request);
      if (found !== undefined) return found.api.handle(new Below(request, found.path));
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

/** What every answer has in common, of whatever interface (decisions 1.16, 1.17). */
function shared({ method }: ApiRequest, answer: ApiResponse): ApiResponse {
  if (method === 'OPTIONS') return { status: 204, headers: { ...CORS_HEADERS, ...PREFLIGHT_HEADERS } };
  return { ...answer, headers: { ...CORS_HEADERS, ...answer.headers } };
}

/** The same request for an interface that stands below a path: as it came, but for what it asks for there. */
class Below implements ApiRequest {
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

  get signal(): AbortSignal | undefined {
    return this.#request.signal;
  }

  get remoteAddress(): string | undefined {
    return this.#request.remoteAddress;
  }

  readonly header = (name: string): string | undefined => this.#request.header(name);
}
