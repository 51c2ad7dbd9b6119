import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { OrderBookError } from 'intentbook';

/** How long a client may take, in milliseconds. */
interface HttpTimeouts {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly keepAliveTimeout: number;
  readonly connectionsCheckingInterval: number;
  /** After how long a connection is cut on which nothing moves, though an answer is under way. */
  readonly stalled: number;
}

const HTTP_TIMEOUTS: HttpTimeouts = {
  /** For the head of a request. */
  headersTimeout: 10_000,
  /** For a whole request; the largest body is one megabyte. */
  requestTimeout: 30_000,
  /** Between two requests. Longer than the minute that proxies commonly keep a connection for, so that they part first. */
  keepAliveTimeout: 65_000,
  /** How often these are looked after. */
  connectionsCheckingInterval: 5_000,
  stalled: 120_000,
};

/** An HTTP server that trusts no client and can be closed without losing an answer. */
export interface HardenedServer {
  /** Resolves to the URL when it listens. */
  listen(port: number, host: string): Promise<string>;
  /** Takes no more connections and cuts idle ones; those that are served get `grace` milliseconds to end. */
  close(grace: number): Promise<void>;
}

export function createHardenedServer(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  { stalled, ...patience }: HttpTimeouts = HTTP_TIMEOUTS,
): HardenedServer {
  // The answers that are under way, for each connection that is open.
  const connections = new Map<Duplex, Set<ServerResponse>>();
  let closing = false;

  function listener(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const answers = connections.get(socket) ?? new Set();
    answers.add(response);
    if (closing) response.shouldKeepAlive = false;
    response.once('close', () => {
      answers.delete(response);
      if (closing && answers.size === 0) socket.destroySoon();
    });
    if (request.headers.host === undefined && request.httpVersion === '1.1') {
      const body = rejectionBody('the Host header is missing');
      response.writeHead(400, rejectionHeaders(body)).end(body);
    } else handler(request, response);
  }

  // Node's own answer to a missing Host header has no body.
  const server = createServer({ ...patience, requireHostHeader: false }, listener);
  server.setTimeout(stalled);
  // An expectation that is not understood may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', listener);
  server.on('connection', (socket: Socket) => {
    connections.set(socket, new Set());
    socket.once('close', () => connections.delete(socket));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answers = [...(connections.get(socket) ?? [])];
    // A single request whose body has gone wrong, or does not come: nobody has written to the socket yet.
    const [answer] = answers;
    const unanswered = answers.length === 1 && answer?.headersSent === false && !answer.req.complete;
    const answering = answers.length > 0 && !unanswered;
    const silent = 'bytesRead' in socket && socket.bytesRead === 0;
    if (!socket.writable || answering || silent || error.code === 'ECONNRESET') socket.destroy();
    else {
      // The handler may still answer, but not into this rejection.
      if (socket instanceof Socket) answer?.detachSocket(socket);
      socket.end(rawRejection(rejectionBody(complaint(error.code))));
    }
  });
  // `server.close` calls this, and node's own takes a connection for idle whose answer has not left to its end.
  server.closeIdleConnections = () => {
    for (const [socket, answers] of connections) if (answers.size === 0) socket.destroy();
  };

  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve(urlOf(server.address() as AddressInfo)); // it listens on a port
        });
      }),
    close: (grace) =>
      new Promise((resolve) => {
        closing = true;
        // Clients are told to part in answers that have not begun.
        for (const [socket, answers] of connections) {
          for (const answer of answers) {
            answer.shouldKeepAlive = false;
            // Whoever feeds the streams has ended them. One that waits for its reader would not notice.
            if (isEventStream(answer) && answer.writableNeedDrain) socket.destroy();
          }
        }
        const timer = setTimeout(() => server.closeAllConnections(), grace);
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}

function isEventStream(answer: ServerResponse): boolean {
  return String(answer.getHeader('content-type')).startsWith('text/event-stream');
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

function complaint(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'the headers are too large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'the request did not arrive in time';
  return 'this is not HTTP';
}

function rejectionBody(description: string): string {
  return JSON.stringify(new OrderBookError('InvalidParameter', description));
}

function rejectionHeaders(body: string): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': `${Buffer.byteLength(body)}`,
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    connection: 'close',
  };
}

/** An answer where node has given up on the request, and so has no response to write. */
function rawRejection(body: string): string {
  const headers = Object.entries(rejectionHeaders(body)).map(([name, value]) => `${name}: ${value}`);
  return ['HTTP/1.1 400 Bad Request', ...headers, '', body].join('\r\n');
}
