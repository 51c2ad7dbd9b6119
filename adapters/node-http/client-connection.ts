import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiRequestBody } from 'intentbook';

// Controllers by socket, with one listener for each socket: hundreds of requests may be pipelined on one socket, and
// node emits the close of the socket only to the first.
const controllers = new WeakMap<object, Set<AbortController>>();

/** State of the client connection of a request: whether it closed before the response was complete. */
export class ClientConnection {
  readonly #socket: IncomingMessage['socket'];
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor({ socket }: IncomingMessage, response: ServerResponse) {
    this.#socket = socket;
    this.#response = response;
  }

  get aborted(): boolean {
    return this.#controller?.signal.aborted ?? this.#isAborted();
  }

  /** Aborted when the connection closes. Created on first use, because it is expensive and rarely needed. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted()) this.#controller.abort();
      else if (!this.#response.writableFinished) abortOnClose(this.#controller, this.#socket, this.#response);
    }
    return this.#controller.signal;
  }

  #isAborted(): boolean {
    const { writableFinished, destroyed, closed } = this.#response;
    return !writableFinished && (destroyed || closed || this.#socket.destroyed);
  }
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
    if (!response.writableFinished) controller.abort();
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

async function* readChunks(request: IncomingMessage, connection: ClientConnection): AsyncGenerator<Uint8Array> {
  if (request.readableDidRead) throw new Error('a host read the body');
  try {
    // An early end of the iteration must not destroy the socket, which still transports the response.
    yield* request.iterator({ destroyOnReturn: false });
  } catch (error) {
    // After a disconnect, the abort reason is thrown, so that the error is not reported as a failure.
    throw connection.aborted ? connection.signal.reason : error;
  }
}
