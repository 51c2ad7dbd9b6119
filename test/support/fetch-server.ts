import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

/** A server on a free port of this machine. */
export interface FetchServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves a function from `Request` to `Response` over HTTP. */
export async function serveFetch(handle: (request: Request) => Promise<Response>): Promise<FetchServer> {
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET' } = incoming;
    const headers = new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
    const body = method === 'GET' ? {} : { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' as const };
    const request = new Request(`http://127.0.0.1${incoming.url}`, { method, headers, ...body });
    const response = await handle(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // of a TCP server
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
