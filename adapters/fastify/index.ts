import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Api, type ApiRequest, createApi, type OrderBook } from 'intentbook';
import { sendApiResponse, toApiRequest } from 'intentbook/node-http';
import { assertKnownOptions, createOpenStreams, isApi } from '#internal';

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
  addHook(name: 'preClose', hook: (done: () => void) => void): unknown;
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
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  hasHeader(name: string): boolean;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  send(payload?: string | Buffer): unknown;
  hijack(): unknown;
  callNotFound(): unknown;
}

/**
 * Serves a book, or any `Api`, in a Fastify 5 application. The plugin is encapsulated: the application keeps its
 * parsers, its error handler and its 404. Without a prefix, the application responds with its 404 to paths that do not
 * belong to the interface.
 *
 * Responses are sent by `reply`, so hooks and headers of the application apply. Event streams, and responses to a body
 * that is still arriving, are written to the socket with the headers of the application, but without `onSend`. Streams
 * end when the application closes.
 *
 * ```ts
 * app.register(fastifyPlugin, { prefix: '/sepolia', book });
 * ```
 */
export function fastifyPlugin(instance: FastifyLike, options: FastifyPluginOptions, done: () => void): void {
  assertKnownOptions('fastifyPlugin', options, ['book', 'prefix']);
  const api = isApi(options.book) ? options.book : createApi(options.book);
  const prefix = instance.prefix.replace(/\/+$/, '');
  const streams = createOpenStreams();
  const sending = new Set<ServerResponse>();

  // Fastify waits for open responses before it closes, and event streams do not end on their own.
  instance.addHook('preClose', (closed) => {
    streams.close();
    // Fastify closes connections that are idle after this hook, and would wait for those that become idle later.
    void Promise.all([...sending].map(endOfResponse)).then(() => closed());
  });

  async function respond(
    { raw: request }: FastifyRequestLike,
    reply: FastifyReplyLike,
    apiRequest: ApiRequest,
  ): Promise<void> {
    const { raw: response } = reply;
    const { status, headers, body } = await api.handle(apiRequest);
    const isStream = typeof body === 'object' && Symbol.asyncIterator in body;
    if (isStream || !request.complete) {
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined && !response.headersSent) response.setHeader(name, value);
      }
      reply.hijack();
      const content = streams.track({ status, headers, body });
      // A response of a client that has left emits no further event.
      if (isStream && !response.closed) {
        sending.add(response);
        response.once('close', () => sending.delete(response));
      }
      await sendApiResponse(request, response, {
        status,
        headers,
        ...(content === undefined ? {} : { body: content }),
      });
      return;
    }
    const hasCors = reply.hasHeader('access-control-allow-origin');
    const { vary } = reply.getHeaders();
    reply.code(status);
    for (const [name, value] of Object.entries(headers)) {
      // Both values of `Vary` apply.
      const all = name === 'vary' && vary !== undefined ? [vary, value].flat().join(', ') : value;
      if (!hasCors || !name.startsWith('access-control-')) reply.header(name, all);
    }
    // A view, because a copy of a large body takes longer than the rest of the response.
    const toView = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength);
    if (typeof body !== 'object') reply.send(body);
    else reply.send(body instanceof Uint8Array ? toView(body) : Buffer.concat(body));
  }

  // The API reads bodies itself, because their limits depend on the route.
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
  for (const url of ['/', '/*']) {
    instance.route({
      method: instance.supportedMethods,
      url,
      exposeHeadRoute: false, // HEAD is among the methods
      handler(request, reply) {
        const apiRequest = toApiRequest(request.raw, reply.raw, prefix);
        if (prefix === '' && api.handlesPath?.(apiRequest.path) === false) {
          reply.callNotFound();
          return;
        }
        // A partial response is cut off, so that the client does not take it for a complete one.
        respond(request, reply, apiRequest).catch(() => reply.raw.destroy());
      },
    });
  }
  done();
}

/** Time that a client has to receive the end of its stream, in milliseconds. */
const END_TIMEOUT = 1_000;

/** Waits for the end of a response. Cuts off a client that does not read. */
function endOfResponse(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), END_TIMEOUT);
    response.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
