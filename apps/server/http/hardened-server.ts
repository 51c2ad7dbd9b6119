import { chmodSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { OrderBookError } from 'intentbook';
import { CORS_HEADERS } from '#internal';
import type { AdmitConnection } from './connection-limit.ts';
import { isSocketFile, removeStaleSocket } from './socket-file.ts';

/** Timeouts of clients, in milliseconds. */
const HTTP_TIMEOUTS = {
  /** Timeout of the request head. */
  headersTimeout: 10_000,
  /** Timeout of a whole request. The largest body is one megabyte. */
  requestTimeout: 30_000,
  /** Timeout between two requests. Longer than the two minutes of Caddy, so that the proxy closes first. */
  keepAliveTimeout: 125_000,
  /** Interval of the timeout check. */
  connectionsCheckingInterval: 5_000,
  /** Maximum time without progress during a response. */
  stalled: 120_000,
};

/** An HTTP server with timeouts for clients, which can be closed without losing a response. */
export type HardenedServer = ReturnType<typeof createHardenedServer>;

/**
 * Creates a server.
 *
 * @param admit - Admits a connection, or returns undefined to close it. The result is called when the connection ends.
 */
export function createHardenedServer(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  { stalled, ...timeouts } = HTTP_TIMEOUTS,
  admit: AdmitConnection = () => () => {},
) {
  // The responses in progress of each open connection.
  const connections = new Map<Duplex, Set<ServerResponse>>();
  // The newest request of each connection.
  const requests = new WeakMap<Duplex, IncomingMessage>();
  let closing = false;

  function listener(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const responses = connections.get(socket) ?? new Set();
    responses.add(response);
    requests.set(socket, request);
    if (closing) response.shouldKeepAlive = false;
    response.once('close', () => {
      responses.delete(response);
      if (closing && responses.size === 0) socket.destroySoon();
    });
    const reason = findHeaderFault(request);
    if (reason !== undefined) {
      const body = JSON.stringify(new OrderBookError('InvalidParameter', reason));
      response.writeHead(400, rejectionHeaders(body)).end(body);
    } else handler(request, response);
  }

  // Node's response to a missing Host header has no body.
  const server = createServer({ ...timeouts, requireHostHeader: false }, listener);
  server.setTimeout(stalled);
  // Above a number, older versions of Node.js leave headers out. Their size is limited.
  server.maxHeadersCount = 0;
  // An unknown expectation may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', listener);
  // Without a listener, Node.js closes the connection without a response.
  server.on('connect', (_, socket) => {
    const reject = () => socket.end(rawRejection(new OrderBookError('MethodNotAllowed', 'CONNECT is not supported')));
    const earlier = [...(connections.get(socket) ?? [])].at(-1);
    if (earlier === undefined) reject();
    else earlier.once('close', reject);
  });
  server.on('connection', (socket: Socket) => {
    // A peer of a socket file is a process of this machine, usually a proxy.
    if (socket.remoteAddress === undefined) Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' });
    const release = admit(socket.remoteAddress);
    if (release === undefined) {
      socket.destroy();
      return;
    }
    connections.set(socket, new Set());
    socket.once('close', () => {
      connections.delete(socket);
      release();
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const responses = [...(connections.get(socket) ?? [])];
    // A request that was rejected before its body has its response.
    if (responses.length === 0 && requests.get(socket)?.complete === false) socket.destroy();
    else rejectInvalid(error, socket, responses);
  });
  // `server.close` calls this. Node's version treats a connection as idle before its response is fully sent.
  server.closeIdleConnections = () => {
    for (const [socket, responses] of connections) if (responses.size === 0) socket.destroy();
  };

  return {
    /** Listens on a port, or on a socket file if `host` is a path. Returns its URL, or `unix:` and the path. */
    async listen(port: number, host: string): Promise<string> {
      const isFile = isSocketFile(host);
      if (isFile) await removeStaleSocket(host);
      return new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(isFile ? { path: host } : { port, host }, () => {
          server.off('error', reject);
          // A proxy of the same group connects.
          if (isFile) chmodSync(host, 0o660);
          resolve(isFile ? `unix:${host}` : formatUrl(server.address() as AddressInfo)); // a listening server has one
        });
      });
    },
    /** Accepts no more connections and closes idle ones. Running requests have `grace` milliseconds to end. */
    close: (grace: number): Promise<void> =>
      new Promise((resolve) => {
        closing = true;
        // Responses that have not started close their connection.
        for (const [socket, responses] of connections) {
          for (const response of responses) {
            response.shouldKeepAlive = false;
            // The streams were ended. A stream that waits for its client would not notice.
            if (isEventStream(response) && response.writableNeedDrain) socket.destroy();
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

/** Rejects bytes that are not a request, after the responses to the requests before them. */
function rejectInvalid(error: NodeJS.ErrnoException, socket: Duplex, responses: readonly ServerResponse[]): void {
  // Complete requests receive their responses although invalid bytes follow, such as those after "Connection: close".
  const last = responses.findLast(({ req }) => req.complete);
  if (last !== undefined && responses.every(({ headersSent }) => !headersSent)) {
    last.shouldKeepAlive = false;
    return;
  }
  // A single request with an invalid or missing body: no response was written yet.
  const [response] = responses;
  const isWaiting = responses.length === 1 && response?.headersSent === false && !response.req.complete;
  const isResponding = responses.length > 0 && !isWaiting;
  const silent = 'bytesRead' in socket && socket.bytesRead === 0;
  if (!socket.writable || isResponding || silent || error.code === 'ECONNRESET') socket.destroy();
  else {
    // The handler may still respond, but must not append to this rejection.
    if (socket instanceof Socket) response?.detachSocket(socket);
    socket.end(rawRejection(new OrderBookError('InvalidParameter', complaint(error.code))));
  }
}

/** Headers that must occur once. Of two, Node.js keeps the first one, and a proxy may use another. */
const SINGLE = ['Host', 'Authorization'];

/** Returns the reason to reject a request for its headers (RFC 9110, 5.3 and 9112, 3.2). */
function findHeaderFault({ rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  const found = new Set<string>();
  // Names and values alternate.
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i] as string; // within the list
    const name = SINGLE.find((each) => each.length === given.length && each.toLowerCase() === given.toLowerCase());
    if (name !== undefined && found.has(name)) return `the ${name} header is repeated`;
    if (name !== undefined) found.add(name);
  }
  return found.has('Host') || httpVersion !== '1.1' ? undefined : 'the Host header is missing';
}

function isEventStream(response: ServerResponse): boolean {
  return String(response.getHeader('content-type')).startsWith('text/event-stream');
}

function formatUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

function complaint(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'the headers are too large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'the request did not arrive in time';
  return 'this is not HTTP';
}

function rejectionHeaders(body: string): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': `${Buffer.byteLength(body)}`,
    'cache-control': 'no-store',
    ...CORS_HEADERS,
    connection: 'close',
  };
}

/** Renders the response to a request for which Node.js has no response object. */
function rawRejection(error: OrderBookError): string {
  const body = JSON.stringify(error);
  const headers = Object.entries(rejectionHeaders(body)).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`, ...headers, '', body].join('\r\n');
}
