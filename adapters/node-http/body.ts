import type { IncomingMessage } from 'node:http';
import type { ApiRequestBody } from 'intentbook';
import type { ClientConnection } from './client-connection.ts';

/** What node:http hands out, and what hosts such as Express make of it: the body may have been read and parsed. */
export interface NodeRequestLike extends IncomingMessage {
  readonly body?: unknown;
  /** The path that the host has taken off `url`. */
  readonly baseUrl?: string;
}

/** Hands the body on as the host has left it: unread, read, or parsed. */
export function bodyOf(request: NodeRequestLike, departure: ClientConnection): ApiRequestBody {
  const { body, headers, httpVersionMajor } = request;
  const length = headers['content-length'] ?? '0';
  if (httpVersionMajor === 1 && length === '0' && headers['transfer-encoding'] === undefined) return { type: 'none' };
  // An unread stream is the truth whatever `body` says: parsers that pass a request by leave an empty object there.
  if (!request.readableDidRead) return { type: 'chunks', chunks: chunksOf(request, departure) };
  if (body === undefined) return { type: 'none' };
  if (typeof body === 'string' || body instanceof Uint8Array) return { type: 'bytes', bytes: body };
  return { type: 'parsed', value: body };
}

async function* chunksOf(request: IncomingMessage, departure: ClientConnection): AsyncGenerator<Uint8Array> {
  try {
    // Leaving off must not destroy the socket, which is still to carry the answer.
    yield* request.iterator({ destroyOnReturn: false });
  } catch (error) {
    // A client that has left is told by its own reason, so that nobody takes it for a failure.
    throw departure.gone ? departure.signal.reason : error;
  }
}
