import type { ServerResponse } from 'node:http';
import { type Api, type ApiRequest, type ApiRequestBody, createApi, type OrderBook } from 'intentbook';
import { assertKnownOptions } from '#internal';
import { bodyOf, type NodeRequestLike } from './body.ts';
import { ClientConnection } from './client-connection.ts';
import { respond } from './respond.ts';

export type { NodeRequestLike } from './body.ts';

/** A listener for `node:http`, and a handler for hosts that pass `next`, as connect and Express do. */
export type NodeHandler = (
  request: NodeRequestLike,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/** Where a book is mounted. */
export interface NodeHandlerOptions {
  /** Where the interface is mounted, `/sepolia` for `/sepolia/api/v1/orders`. Default: at the root. */
  readonly prefix?: string;
}

/**
 * Serves a book, or any `Api`, on `node:http` and on hosts that are built on it. A path outside the prefix, or at the
 * root of a host one that is not the interface's own, goes to the host's `next`. Without one it is answered with 404.
 *
 * ```ts
 * createServer(nodeHandler(book, { prefix: '/sepolia' })).listen(8080);
 * ```
 *
 * @throws TypeError for an unknown option or a prefix that does not begin with a slash.
 */
export function nodeHandler(target: OrderBook | Api, options: NodeHandlerOptions = {}): NodeHandler {
  assertKnownOptions('nodeHandler', options, ['prefix']);
  const prefix = (options.prefix ?? '').replace(/\/+$/, '');
  if (prefix !== '' && !prefix.startsWith('/')) throw new TypeError('nodeHandler: prefix must begin with a slash');
  const api = 'handle' in target ? target : createApi(target);

  return (request, response, next) => {
    const url = originForm(request.url ?? '/');
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const inside = path === prefix || path.startsWith(`${prefix}/`);
    // At the root of a host, what is not ours is the host's.
    const ours = inside && (prefix !== '' || isBelow(request) || (api.handlesPath?.(path) ?? true));
    if (!ours && next !== undefined) return next();

    const departure = new ClientConnection(request, response);
    api
      .handle(
        new NodeApiRequest(request, departure, {
          // No route begins with a dot segment, so that this is a 404 in the interface's own words.
          path: inside ? path.slice(prefix.length) || '/' : `/..${path}`,
          query: mark < 0 ? '' : url.slice(mark + 1),
        }),
      )
      .then((answer) => respond(request, response, answer, departure))
      .catch((error: unknown) => {
        // What is half written can only be cut, so that nobody takes it for the whole.
        if (next === undefined || response.headersSent || departure.gone) response.destroy();
        else next(error);
      });
  };
}

/** A request as the core reads it. A class, since getters of an object made on the spot would cost more than they spare. */
class NodeApiRequest implements ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: ApiRequestBody;
  readonly #request: NodeRequestLike;
  readonly #departure: ClientConnection;

  constructor(request: NodeRequestLike, departure: ClientConnection, { path, query }: { path: string; query: string }) {
    this.method = request.method ?? 'GET';
    this.path = path;
    this.query = query;
    this.body = bodyOf(request, departure);
    this.#request = request;
    this.#departure = departure;
  }

  // Taken off its request by some.
  readonly header = (name: string): string | undefined => joined(this.#request.headers[name]);

  get signal(): AbortSignal {
    return this.#departure.signal;
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }
}

/** Whether the host has mounted us below a path of its own, which it has taken off the URL, as Express does. */
function isBelow({ baseUrl }: NodeRequestLike): boolean {
  return baseUrl !== undefined && baseUrl !== '';
}

/** A request line may name the whole URL (RFC 9112, 3.2.2), as proxies write it. */
function originForm(url: string): string {
  return /^https?:\/\//i.test(url) ? url.replace(/^https?:\/\/[^/?]*/i, '') : url;
}

function joined(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
