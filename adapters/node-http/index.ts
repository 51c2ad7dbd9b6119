import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Api,
  type ApiRequest,
  type ApiRequestBody,
  type ApiResponse,
  createApi,
  type OrderBook,
} from 'intentbook';
import { assertKnownOptions, isApi, parsePrefix } from '#internal';
import {
  ClientConnection,
  createResponseMemory,
  getBody,
  type NodeRequestLike,
  type ResponseMemory,
  respond,
} from './respond.ts';

export type { NodeRequestLike } from './respond.ts';

/** Request listener for `node:http`, and handler for hosts that pass `next`, such as connect and Express. */
export type NodeHandler = (
  request: NodeRequestLike,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/** Options of the Node handler. */
export interface NodeHandlerOptions {
  /** Path prefix of the interface: `/sepolia` for `/sepolia/api/v1/orders`. Default: none. */
  readonly prefix?: string;
  /**
   * Whether the memory of a large body is used for other responses after this one was sent. An `Api` that keeps bodies,
   * for example in a cache, must not allow it. Default: true for a book, false for an `Api`.
   */
  readonly reusesMemory?: boolean;
}

/**
 * Serves a book, or any `Api`, on `node:http` and on hosts that are based on it. A path outside the prefix is passed to
 * the host's `next`. Without a prefix, this applies to every path that does not belong to the interface. Without
 * `next`, the response is 404.
 *
 * ```ts
 * createServer(nodeHandler(book, { prefix: '/sepolia' })).listen(8080);
 * ```
 *
 * @throws TypeError for an unknown option or a prefix that does not begin with a slash.
 */
export function nodeHandler(target: OrderBook | Api, options: NodeHandlerOptions = {}): NodeHandler {
  assertKnownOptions('nodeHandler', options, ['prefix', 'reusesMemory']);
  const prefix = parsePrefix('nodeHandler', options.prefix);
  const api = isApi(target) ? target : createApi(target);
  const memory = (options.reusesMemory ?? api !== target) ? createResponseMemory() : undefined;

  return (request, response, next) => {
    const { path, query, isInside } = splitUrl(request.url, prefix);
    // At the root of a host, other paths belong to the host.
    const isHandled = () => isInside && (prefix !== '' || isMountedBelow(request) || (api.handlesPath?.(path) ?? true));
    if (next !== undefined && !isHandled()) return next();

    const connection = new ClientConnection(request, response);
    const apiRequest = new NodeApiRequest(request, connection, { path, query }, memory);
    api
      .handle(apiRequest)
      .then((answer) => respond(request, response, answer, connection, apiRequest.releaseOf(answer.body)))
      .catch((error: unknown) => {
        // A partial response is cut off, so that the client does not take it for a complete one.
        if (next === undefined || response.headersSent || connection.aborted) response.destroy();
        else next(error);
      });
  };
}

/**
 * Converts a request of `node:http` to a request of the HTTP interface, for mounts of other frameworks.
 *
 * @param prefix - Path prefix without a trailing slash, which is removed from the path. Default: none.
 */
export function toApiRequest(request: NodeRequestLike, response: ServerResponse, prefix = ''): ApiRequest {
  return new NodeApiRequest(request, new ClientConnection(request, response), splitUrl(request.url, prefix));
}

/**
 * Writes a response of the HTTP interface, with the rest of the body discarded and streams under backpressure.
 * Headers that the host has set remain, and its CORS headers replace those of the interface.
 */
export async function sendApiResponse(
  request: IncomingMessage,
  response: ServerResponse,
  apiResponse: ApiResponse,
): Promise<void> {
  await respond(request, response, apiResponse, new ClientConnection(request, response));
}

/** Request for the API. A class, because getters of an object literal would cost more than they save. */
class NodeApiRequest implements ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: ApiRequestBody;
  readonly #request: NodeRequestLike;
  readonly #connection: ClientConnection;
  readonly #memory: ResponseMemory | undefined;
  #allocated: Uint8Array | undefined;

  constructor(
    request: NodeRequestLike,
    connection: ClientConnection,
    { path, query }: { path: string; query: string },
    memory?: ResponseMemory,
  ) {
    this.method = request.method ?? 'GET';
    this.path = path;
    this.query = query;
    this.body = getBody(request, connection);
    this.#request = request;
    this.#connection = connection;
    this.#memory = memory;
  }

  // An arrow function, because some callers use it detached from the request.
  readonly header = (name: string): string | undefined => joinValues(this.#request.headers[name]);

  get signal(): AbortSignal {
    return this.#connection.signal;
  }

  get aborted(): boolean {
    return this.#connection.aborted;
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get allocate(): ApiRequest['allocate'] {
    const memory = this.#memory;
    if (memory === undefined) return undefined;
    return (size) => {
      this.#allocated = memory.allocate(size);
      return this.#allocated;
    };
  }

  /** Returns a function that releases the memory of a body. `undefined` if the body has other memory. */
  releaseOf(body: ApiResponse['body']): (() => void) | undefined {
    const [memory, allocated] = [this.#memory, this.#allocated];
    return memory !== undefined && allocated !== undefined && allocated === body
      ? () => memory.release(allocated)
      : undefined;
  }
}

/** Returns whether the host has mounted the handler below a path and removed it from the URL, as Express does. */
function isMountedBelow({ baseUrl }: NodeRequestLike): boolean {
  return baseUrl !== undefined && baseUrl !== '';
}

/** Splits a request target. The path is relative to the prefix. */
function splitUrl(target: string | undefined, prefix: string) {
  const url = toOriginForm(target ?? '/');
  const queryStart = url.indexOf('?');
  const path = queryStart < 0 ? url : url.slice(0, queryStart);
  const isInside = path === prefix || path.startsWith(`${prefix}/`);
  return {
    isInside,
    // No route begins with a dot segment, so the API responds with its own 404.
    path: isInside ? path.slice(prefix.length) || '/' : `/..${path}`,
    query: queryStart < 0 ? '' : url.slice(queryStart + 1),
  };
}

/** Removes the origin of an absolute request target (RFC 9112, 3.2.2), which proxies send. */
function toOriginForm(url: string): string {
  return /^https?:\/\//i.test(url) ? url.replace(/^https?:\/\/[^/?]*/i, '') : url;
}

function joinValues(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
