import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Api, OrderBook } from 'intentbook';
import { createApi } from 'intentbook';
import { nodeHandler } from 'intentbook/node-http';
import { assertKnownOptions } from '#internal';

/** Options of the Fastify plugin. */
export interface FastifyPluginOptions {
  /** The book to serve, or any `Api`. */
  readonly book: OrderBook | Api;
  /** Path prefix, which Fastify itself applies. */
  readonly prefix?: string;
}

/** The part of a Fastify instance that the plugin uses, so that its types do not depend on Fastify. */
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

/** The part of a Fastify request that the plugin uses. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage;
}

/** The part of a Fastify reply that the plugin uses. */
export interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
  callNotFound(): unknown;
}

/**
 * Serves a book, or any `Api`, in a Fastify 5 application. The plugin is encapsulated: the application keeps its
 * parsers, its error handler and its 404. Without a prefix, the application responds with its 404 to paths that do not
 * belong to the interface.
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

  // The API reads bodies itself, because their limits depend on the route.
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
