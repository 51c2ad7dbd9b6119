import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Api, OrderBook } from 'intentbook';
import { createApi } from 'intentbook';
import { nodeHandler } from 'intentbook/node-http';
import { assertKnownOptions } from '#internal';

/** What is mounted, and where. */
export interface FastifyPluginOptions {
  /** The book to serve, or any `Api`. */
  readonly book: OrderBook | Api;
  /** Where it is mounted, by Fastify itself. */
  readonly prefix?: string;
}

/** What of a Fastify instance this plugin needs, so that its types need none of Fastify's. */
export interface FastifyLike {
  readonly prefix: string;
  readonly supportedMethods: string[];
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    parser: (request: never, payload: never, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  route(options: {
    method: string[];
    url: string;
    exposeHeadRoute: boolean;
    handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => void;
  }): unknown;
}

/** What of a Fastify request this plugin needs. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage;
}

/** What of a Fastify reply this plugin needs. */
export interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
  callNotFound(): unknown;
}

/**
 * Serves a book, or any `Api`, in a Fastify application (5), encapsulated: the application keeps its parsers, its error
 * handler and its 404. At the root, paths that are not the interface's own are the application's 404.
 *
 * ```ts
 * app.register(fastifyPlugin, { prefix: '/sepolia', book });
 * ```
 */
export function fastifyPlugin(instance: FastifyLike, options: FastifyPluginOptions, done: () => void): void {
  assertKnownOptions('fastifyPlugin', options, ['book', 'prefix']);
  const api = 'handle' in options.book ? options.book : createApi(options.book);
  const { prefix } = instance;
  const serve = nodeHandler(api, { prefix });

  // Bodies are read by the core, which knows each route's limit.
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
  for (const url of ['/', '/*']) {
    instance.route({
      method: instance.supportedMethods,
      url,
      exposeHeadRoute: false, // HEAD is among the methods
      handler(request, reply) {
        const path = (request.raw.url ?? '/').split('?')[0] ?? '/';
        if (prefix === '' && api.handlesPath?.(path) === false) {
          reply.callNotFound();
          return;
        }
        reply.hijack();
        serve(request.raw, reply.raw);
      },
    });
  }
  done();
}
