import { type Api, type ApiRequestBody, type ApiResponse, createApi, type OrderBook } from 'intentbook';
import { assertKnownOptions, isApi, parsePrefix, requireFunction } from '#internal';

/** Handler for hosts with web types, such as Hono, Bun, Deno and Next. It rejects only if `Api.handle` rejects. */
export type FetchHandler = (request: Request, host?: unknown) => Promise<Response>;

/** Options of the fetch handler. */
export interface FetchHandlerOptions {
  /** Path prefix of the interface: `/sepolia` for `/sepolia/api/v1/orders`. Default: none. */
  readonly prefix?: string;
  /**
   * Returns the remote address of the socket, which a `Request` does not contain, for an `Api` with a rate limiter.
   * `host` is the second argument of the host: Bun passes its server, Deno its connection. Default: unknown, so that
   * all clients share one limit.
   */
  readonly remoteAddress?: (request: Request, host: unknown) => string | undefined;
}

/**
 * Serves a book, or any `Api`, on hosts that map a `Request` to a `Response`. The response to a path outside the prefix
 * is 404.
 *
 * ```ts
 * Bun.serve({ fetch: fetchHandler(book) });
 * ```
 *
 * @throws TypeError for an unknown or malformed option, such as a prefix that does not begin with a slash.
 */
export function fetchHandler(target: OrderBook | Api, options: FetchHandlerOptions = {}): FetchHandler {
  assertKnownOptions('fetchHandler', options, ['prefix', 'remoteAddress']);
  const prefix = parsePrefix('fetchHandler', options.prefix);
  if (options.remoteAddress !== undefined) requireFunction('fetchHandler: remoteAddress', options.remoteAddress);
  const api = isApi(target) ? target : createApi(target);

  return async (request, host) => {
    const remoteAddress = options.remoteAddress?.(request, host);
    const { pathname, search } = new URL(request.url);
    const isInside = pathname === prefix || pathname.startsWith(`${prefix}/`);
    const response = await api.handle({
      method: request.method.toUpperCase(),
      // No route begins with a dot segment, so the API responds with its own 404.
      path: isInside ? pathname.slice(prefix.length) || '/' : `/..${pathname}`,
      query: search.slice(1),
      header: (name) => request.headers.get(name) ?? undefined,
      body: getBody(request),
      signal: request.signal,
      ...(remoteAddress !== undefined && { remoteAddress }),
    });
    return toResponse(request, response, host);
  };
}

function getBody({ body, bodyUsed, signal }: Request): ApiRequestBody {
  if (body === null) return { type: 'none' };
  return { type: 'chunks', chunks: readChunks(body, signal, bodyUsed) };
}

async function* readChunks(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  isUsed: boolean,
): AsyncGenerator<Uint8Array> {
  // A mistake of the host, and not of the client, whose body is not empty.
  if (isUsed) throw new Error('a host read the body');
  try {
    // Hosts on node would destroy the socket of a cancelled body, and with it the response.
    yield* body.values({ preventCancel: true });
  } catch (error) {
    // After a disconnect, the abort reason is thrown, so that the error is not reported as a failure.
    throw signal.aborted ? signal.reason : error;
  }
}

const encoder = /* @__PURE__ */ new TextEncoder();

/** Returns the size of a text in UTF-8. Platforms with `Buffer` count it without encoding. */
const countBytes: (text: string) => number = globalThis.Buffer?.byteLength ?? ((text) => encoder.encode(text).length);

/** The members of the server of Bun that are used. */
interface BunServer {
  timeout?(request: Request, seconds: number): void;
}

async function toResponse(request: Request, { status, headers, body }: ApiResponse, host: unknown): Promise<Response> {
  const { method, signal } = request;
  const isBodyless = status === 204 || status === 304;
  const omitsBody = isBodyless || method === 'HEAD';
  if (typeof body === 'object' && Symbol.asyncIterator in body) {
    const stream = body[Symbol.asyncIterator]();
    // Bun ends a response without data after ten seconds, which is before the first comment of an event stream.
    (Object(host) as BunServer).timeout?.(request, 0);
    if (omitsBody || signal.aborted) await stream.return?.();
    return new Response(omitsBody ? null : toReadableStream(stream, signal), { status, headers });
  }
  // A platform encodes a text faster than it copies the same bytes.
  const content = typeof body === 'string' || body instanceof Uint8Array ? body : new Blob([...(body ?? [])]);
  const length = isBodyless ? undefined : { 'content-length': String(getSize(content)) };
  return new Response(omitsBody ? null : content, { status, headers: Object.assign({}, length, headers) });
}

function getSize(content: string | Uint8Array | Blob): number {
  if (typeof content === 'string') return countBytes(content);
  return content instanceof Blob ? content.size : content.length;
}

/** Converts to a stream with backpressure and without read-ahead. */
function toReadableStream(stream: AsyncIterator<string>, signal: AbortSignal): ReadableStream<Uint8Array> {
  let ended = signal.aborted;
  const stop = async () => {
    ended = true;
    await stream.return?.();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (ended) controller.close();
        signal.addEventListener('abort', () => {
          // A host may abort the request after the stream has ended, has failed or was cancelled.
          if (ended) return;
          // An error would be printed by some hosts for each client that disconnects.
          controller.close();
          stop().catch(() => {});
        });
      },
      async pull(controller) {
        const { done, value } = await stream.next().catch(async (error: unknown) => {
          await stop();
          throw error;
        });
        if (signal.aborted) return;
        if (done) {
          ended = true;
          controller.close();
        } else controller.enqueue(encoder.encode(value));
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  );
}
