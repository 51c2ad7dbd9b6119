import { once } from 'node:events';
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiRequestBody, ApiResponse } from 'intentbook';

// Controllers by socket, with one listener for each socket: hundreds of requests may be pipelined on one socket, and
// node emits the close of the socket only to the first.
const controllers = new WeakMap<object, Set<AbortController>>();

/** Servers that have listened. A host may also pass connections to a server that never does. */
const listened = new WeakSet<Server>();

/** State of the client connection of a request: whether it closed before the response was complete. */
export class ClientConnection {
  readonly #socket: IncomingMessage['socket'];
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor({ socket }: IncomingMessage, response: ServerResponse) {
    this.#socket = socket;
    this.#response = response;
    const server = getServer(socket);
    if (server?.listening) listened.add(server);
  }

  get aborted(): boolean {
    return this.#controller?.signal.aborted ?? this.#isAborted();
  }

  /** Aborted when the connection closes. Created on first use, because it is expensive and rarely needed. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted()) this.#controller.abort();
      else if (!isSent(this.#response)) abortOnClose(this.#controller, this.#socket, this.#response);
    }
    return this.#controller.signal;
  }

  #isAborted(): boolean {
    const { destroyed, closed } = this.#response;
    return !isSent(this.#response) && (destroyed || closed || this.#socket.destroyed);
  }
}

/** Whether the response was sent. Node describes a stream of HTTP/2 that was reset as finished, but not as ended. */
function isSent({ writableFinished, writableEnded }: ServerResponse): boolean {
  return writableFinished && writableEnded;
}

function abortOnClose(controller: AbortController, socket: IncomingMessage['socket'], response: ServerResponse): void {
  let ofSocket = controllers.get(socket);
  if (ofSocket === undefined) {
    const all = new Set<AbortController>();
    // Adapters of functions, such as serverless-http, have an object without events.
    socket.once?.('close', () => {
      for (const each of all) each.abort();
    });
    controllers.set(socket, all);
    ofSocket = all;
  }
  const others = ofSocket.add(controller);
  response.once('close', () => {
    others.delete(controller);
    if (!isSent(response)) controller.abort();
  });
}

/** Request of node:http, or of a host such as Express that may already have read and parsed the body. */
export interface NodeRequestLike extends IncomingMessage {
  readonly body?: unknown;
  /** The bytes of a body that the host has read, as many hosts keep them to verify signatures. */
  readonly rawBody?: unknown;
  /** Path that the host has removed from `url`. */
  readonly baseUrl?: string;
}

/** Returns the body in the state in which the host left it: unread, read or parsed. */
export function getBody(request: NodeRequestLike, connection: ClientConnection): ApiRequestBody {
  const { body = request.rawBody, headers, httpVersionMajor } = request;
  const length = headers['content-length'] ?? '0';
  if (httpVersionMajor === 1 && length === '0' && headers['transfer-encoding'] === undefined) return { type: 'none' };
  // An unread stream takes precedence over `body`: a parser that ignores a request leaves an empty object there.
  // A body that the host has consumed is a mistake of the host, which `readChunks` reports.
  if (!request.readableDidRead || body === undefined)
    return { type: 'chunks', chunks: readChunks(request, connection) };
  if (typeof body === 'string' || body instanceof Uint8Array) return { type: 'bytes', bytes: body };
  return { type: 'parsed', value: body };
}

/** Events after which there is something to read, or nothing any more. */
const READ_EVENTS = ['readable', 'end', 'error', 'close'] as const;

/**
 * Reads a body. The iterator of the request would take longer than the rest of the reading, and its early end would
 * destroy the socket, which still transports the response.
 */
async function* readChunks(request: IncomingMessage, connection: ClientConnection): AsyncGenerator<Uint8Array> {
  if (request.readableDidRead) throw new Error('a host read the body');
  let wake = () => {};
  const notify = () => wake();
  for (const event of READ_EVENTS) request.on(event, notify);
  try {
    while (!request.readableEnded) {
      const chunk: Uint8Array | null = request.read();
      if (chunk !== null) yield chunk;
      else if (request.destroyed) throw getReason(request, connection);
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    for (const event of READ_EVENTS) request.off(event, notify);
  }
}

/** Returns the error of a body that has no end: after a disconnect the abort reason, which is not reported. */
function getReason({ errored }: IncomingMessage, connection: ClientConnection): unknown {
  return connection.aborted ? connection.signal.reason : (errored ?? new Error('the host destroyed the request'));
}

/** Limit for discarding the rest of a rejected body, in bytes, so that the client can read the rejection. */
const MAX_DISCARDED = 16 * 1024 * 1024;
/** Size of a body that node itself reads to the end to keep the connection, in bytes. */
const SMALL_BODY = 64 * 1024;

/**
 * Writes a response. Does nothing if the client has disconnected or a response was already sent.
 *
 * @param onSent - Called when node has sent the complete body and reads it no longer. Not called if the host can have
 *   kept the body.
 */
export async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers: own, body }: ApiResponse,
  connection: ClientConnection,
  onSent?: () => void,
): Promise<void> {
  const headers = adaptToHost(own, response);
  const stream = typeof body === 'object' && Symbol.asyncIterator in body ? body[Symbol.asyncIterator]() : undefined;
  const content: Content = typeof body === 'object' && Symbol.asyncIterator in body ? '' : (body ?? '');
  const isBodyless = status === 204 || status === 304;
  const omitsBody = isBodyless || request.method === 'HEAD';
  if (connection.aborted || response.headersSent || (stream !== undefined && omitsBody)) await stream?.return?.();
  if (connection.aborted || response.headersSent) return;

  const mustDiscard = hasLargeUnreadBody(request);
  // Set with setHeader, so that the host can distinguish an endless stream from other responses.
  if (stream !== undefined) response.setHeader('content-type', headers['content-type'] ?? 'text/event-stream');
  const length = stream !== undefined || isBodyless ? undefined : { 'content-length': getLength(content) };
  if (isServerClosed(request)) endConnection(request, response);
  response.writeHead(status, Object.assign({}, length, mustDiscard ? { connection: 'close' } : undefined, headers));
  if (stream !== undefined && !omitsBody) {
    // A body that is not read would hide that the client leaves.
    if (mustDiscard) discard(request).catch(() => {});
    await writeStream(stream, response, connection.signal);
  } else if (mustDiscard) {
    // Node closes the connection after the response, which would reset it while the client is still sending.
    if (content && !omitsBody) write(response, content);
    else response.flushHeaders();
    await discard(request);
    response.end();
  } else if (omitsBody) response.end();
  else {
    if (onSent !== undefined && keepsNothing(response)) response.once('finish', onSent);
    if (isWhole(content)) response.end(content);
    else {
      write(response, content);
      response.end();
    }
  }
}

/** A body that is no stream: one text or one block of bytes, or a list of blocks. */
type Content = string | Uint8Array | readonly Uint8Array[];

const isWhole = (content: Content): content is string | Uint8Array =>
  typeof content === 'string' || content instanceof Uint8Array;

const getLength = (content: Content) =>
  isWhole(content) ? Buffer.byteLength(content) : content.reduce((sum, { length }) => sum + length, 0);

function write(response: ServerResponse, content: Content): void {
  for (const chunk of isWhole(content) ? [content] : content) response.write(chunk);
}

/**
 * Whether only Node.js reads the written bytes: a host that replaces a method, for example to compress, may keep it.
 */
function keepsNothing({ end, write }: ServerResponse): boolean {
  return end === ServerResponse.prototype.end && write === ServerResponse.prototype.write;
}

/** Removes CORS headers if the host has set its own, and adds the host's values of `Vary`. */
function adaptToHost(
  own: Readonly<Record<string, string>>,
  response: ServerResponse,
): Readonly<Record<string, string>> {
  const hasCors = response.hasHeader('access-control-allow-origin');
  const vary = own['vary'] === undefined ? undefined : response.getHeader('vary');
  if (!hasCors && vary === undefined) return own;
  const headers = Object.fromEntries(
    Object.entries(own).filter(([name]) => !hasCors || !name.startsWith('access-control-')),
  );
  return vary === undefined ? headers : { ...headers, vary: [vary, own['vary']].flat().join(', ') };
}

/** Response of a host whose middleware buffers what is written, such as the package `compression`. */
type BufferingResponse = ServerResponse & { flush?(): void };

/** Writes a stream with backpressure. */
async function writeStream(
  stream: AsyncIterator<string>,
  response: BufferingResponse,
  signal: AbortSignal,
): Promise<void> {
  // Without this, a source that waits for its next event would not notice the disconnect.
  const stop = () => void Promise.resolve(stream.return?.()).catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  response.flushHeaders();
  while (!signal.aborted) {
    const { done, value } = await stream.next();
    if (signal.aborted) return;
    if (done) break;
    const isFull = !response.write(value);
    response.flush?.();
    if (isFull) await once(response, 'drain', { signal }).catch(() => {});
  }
  signal.removeEventListener('abort', stop);
  if (!signal.aborted) response.end();
}

/** Returns whether a server has stopped listening. */
function isServerClosed({ socket }: IncomingMessage): boolean {
  const server = getServer(socket);
  return server?.listening === false && listened.has(server);
}

/** Returns the server of a connection. Node.js sets it, and does not document it. Injected requests have none. */
const getServer = (socket: object) => (socket as { readonly server?: Server | null }).server;

/**
 * Ends a connection after the responses in progress. A client that never pauses would keep it, and the process, after
 * the server was closed.
 */
function endConnection({ httpVersionMajor }: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  if (httpVersionMajor < 2) return;
  const { stream } = response as unknown as { readonly stream: ServerHttp2Stream }; // a response of HTTP/2
  stream.session?.close();
}

function hasLargeUnreadBody({ complete, httpVersionMajor, headers }: IncomingMessage): boolean {
  return !complete && httpVersionMajor === 1 && !(Number(headers['content-length']) <= SMALL_BODY);
}

/** Milliseconds between two chunks that are discarded, of 64 KiB at most. To read one takes a part of a millisecond. */
const DISCARD_INTERVAL = 4;

/** The time of the last discarded chunk of all connections. They take turns, since each waits for one chunk. */
let lastDiscard = 0;

async function waitForDiscard(): Promise<void> {
  const now = performance.now();
  lastDiscard = Math.max(now, lastDiscard + DISCARD_INTERVAL);
  if (lastDiscard > now) await sleep(lastDiscard - now);
}

async function discard(request: IncomingMessage): Promise<void> {
  let remaining = MAX_DISCARDED;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    remaining -= chunk.length;
    if (remaining < 0) return;
    await waitForDiscard();
  }
}

/** Memory of response bodies, which is used again after the response was sent. */
export type ResponseMemory = ReturnType<typeof createResponseMemory>;

/**
 * Size of the smallest body that is used again, in bytes. Larger sizes are rounded up to a multiple of it, so that
 * bodies of different lengths fit.
 */
const UNIT = 32 * 1024;

/** Size of the largest body that is used again, in bytes. */
const MAX_SIZE = 512 * 1024;

/** Number of unused bodies that are kept. */
const MAX_UNUSED = 8;

/**
 * Creates memory for large bodies. To provide fresh memory of 150 kB takes the operating system longer than to fill it
 * takes a copy.
 */
export function createResponseMemory() {
  const unused: ArrayBufferLike[] = [];

  return {
    /** Returns bytes that the caller overwrites completely. */
    allocate(size: number): Uint8Array {
      if (size < UNIT || size > MAX_SIZE) return Buffer.allocUnsafeSlow(size);
      // The memory that was released last is still in the cache of the processor.
      const index = unused.findLastIndex(({ byteLength }) => byteLength >= size);
      const [found] = index < 0 ? [] : unused.splice(index, 1);
      return new Uint8Array(found ?? Buffer.allocUnsafeSlow(Math.ceil(size / UNIT) * UNIT).buffer, 0, size);
    },
    /** Takes allocated bytes back. No code may read them afterwards. */
    release({ buffer }: Uint8Array): void {
      if (buffer.byteLength < UNIT || buffer.byteLength > MAX_SIZE) return;
      if (unused.length === MAX_UNUSED) unused.shift();
      unused.push(buffer);
    },
  };
}
