import { request as requestHttp1 } from 'node:http';
import { connect } from 'node:http2';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';

/** A response whose body is decompressed while it arrives. */
export interface HostResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
  /** Closes the connection. */
  abort(): void;
}

export interface HostRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request with the token of the application, over HTTP/1.1 or HTTP/2 without TLS. */
export async function send(
  { port, protocol }: { readonly port: number; readonly protocol?: 'h2' | undefined },
  path: string,
  { method = 'GET', headers = {}, body }: HostRequest = {},
): Promise<HostResponse> {
  const content = body === undefined ? {} : { 'content-type': 'application/json' };
  const all = { 'accept-encoding': 'gzip', authorization: 'Bearer host', ...content, ...headers };
  const send = protocol === 'h2' ? sendHttp2 : sendHttp1;
  const response = await send(port, path, method, all, body);
  const isGzip = response.headers['content-encoding'] === 'gzip';
  return { ...response, body: isGzip ? response.body.pipe(createGunzip()) : response.body };
}

/** Reads a response to its end. */
export const readText = ({ body }: HostResponse): Promise<string> => text(body);

function sendHttp1(port: number, path: string, method: string, headers: Record<string, string>, body?: string) {
  return new Promise<HostResponse>((resolve, reject) => {
    const request = requestHttp1({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      response.on('error', () => {}); // an aborted one
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: response,
        abort: () => void response.destroy(),
      });
    });
    request.on('error', reject).end(body);
  });
}

function sendHttp2(port: number, path: string, method: string, headers: Record<string, string>, body?: string) {
  return new Promise<HostResponse>((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`).on('error', reject);
    const stream = session.request({ ':method': method, ':path': path, ...headers });
    stream.on('error', reject).on('close', () => session.close());
    stream.on('response', ({ ':status': status = 0, ...rest }) => {
      const response = rest as Record<string, string>; // no header of a response occurs twice
      resolve({ status, headers: response, body: stream, abort: () => session.destroy() });
    });
    stream.end(body);
  });
}
