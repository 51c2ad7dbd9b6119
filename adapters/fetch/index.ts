import { type Api, type ApiRequestBody, type ApiResponse, createApi, type OrderBook } from 'intentbook';
import { assertKnownOptions } from '#internal';

/** A handler for hosts of the web's own types: Hono, Bun, Deno, Next. Never rejects while the `Api` keeps its word. */
export type FetchHandler = (request: Request, host?: unknown) => Promise<Response>;

/** Where a book is mounted, and how its clients are known. */
export interface FetchHandlerOptions {
  /** Where the interface is mounted, `/sepolia` for `/sepolia/api/v1/orders`. Default: at the root. */
  readonly prefix?: string;
  /**
   * Finds the address at the other end of the socket, which a `Request` does not tell, for an `Api` with a limiter.
   * `host` is what the host has passed beside the request: Bun its server, Deno its connection. Default: unknown, and
   * all clients share one budget.
   */
  readonly remoteAddress?: (request: Request, host: unknown) => string | undefined;
}

/**
 * Serves a book, or any `Api`, on hosts that turn a `Request` into a `Response`. A path outside the prefix is answered
 * with 404.
 *
 * ```ts
 * Bun.serve({ fetch: fetchHandler(book) });
 * ```
 *
 * @throws TypeError for an unknown option or a prefix that does not begin with a slash.
 */
export function fetchHandler(target: OrderBook | Api, options: FetchHandlerOptions = {}): FetchHandler {
  assertKnownOptions('fetchHandler', options, ['prefix', 'remoteAddress']);
  const prefix = (options.prefix ?? '').replace(/\/+$/, '');
  if (prefix !== '' && !prefix.startsWith('/')) throw new TypeError('fetchHandler: prefix must begin with a slash');
  const api = 'handle' in target ? target : createApi(target);

  return async (request, host) => {
    const remoteAddress = options.remoteAddress?.(request, host);
    const { pathname, search } = new URL(request.url);
    const inside = pathname === prefix || pathname.startsWith(`${prefix}/`);
    const answer = await api.handle({
      method: request.method.toUpperCase(),
      // No route begins with a dot segment, so that this is a 404 in the interface's own words.
      path: inside ? pathname.slice(prefix.length) || '/' : `/..${pathname}`,
      query: search.slice(1),
      header: (name) => request.headers.get(name) ?? undefined,
      body: bodyOf(request),
      signal: request.signal,
      ...(remoteAddress !== undefined && { remoteAddress }),
    });
    return respond(request, answer);
  };
}

function bodyOf({ body, bodyUsed, signal }: Request): ApiRequestBody {
  return body === null || bodyUsed ? { type: 'none' } : { type: 'chunks', chunks: chunksOf(body, signal) };
}

async function* chunksOf(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    // Hosts on node would destroy the socket of a cancelled body, and the answer with it.
    yield* body.values({ preventCancel: true });
  } catch (error) {
    // A client that has left is told by its own reason, so that nobody takes it for a failure.
    throw signal.aborted ? signal.reason : error;
  }
}

async function respond({ method, signal }: Request, { status, headers, body }: ApiResponse): Promise<Response> {
  const bare = status === 204 || status === 304;
  const silent = bare || method === 'HEAD';
  if (typeof body === 'object' && Symbol.asyncIterator in body) {
    const stream = body[Symbol.asyncIterator]();
    if (silent || signal.aborted) await stream.return?.();
    return new Response(silent ? null : readable(stream, signal), { status, headers });
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const length = bare ? undefined : { 'content-length': String(bytes?.length ?? 0) };
  return new Response(silent ? null : bytes, { status, headers: { ...length, ...headers } });
}

/** A stream at the pace of its reader: nothing is pulled ahead. */
function readable(stream: AsyncIterator<string>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const stop = async () => void (await stream.return?.());
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) =>
        signal.addEventListener('abort', () => {
          controller.error(signal.reason);
          stop().catch(() => {});
        }),
      async pull(controller) {
        const { done, value } = await stream.next();
        if (signal.aborted) return;
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  );
}
