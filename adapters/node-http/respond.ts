import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiResponse } from 'intentbook';
import type { ClientConnection } from './client-connection.ts';

/** What is left of a rejected body is read and thrown away up to here, so that its sender gets to see the rejection. */
const LINGER_BYTES = 16 * 1024 * 1024;
/** A rest that node itself reads to the end, to keep the connection. */
const SMALL_BYTES = 64 * 1024;

/** Writes an answer. Does nothing when the client has gone or somebody else has answered. */
export async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: ApiResponse,
  departure: ClientConnection,
): Promise<void> {
  const stream = typeof body === 'object' && Symbol.asyncIterator in body ? body[Symbol.asyncIterator]() : undefined;
  const whole = typeof body === 'object' && Symbol.asyncIterator in body ? undefined : (body ?? '');
  const bare = status === 204 || status === 304;
  const silent = bare || request.method === 'HEAD';
  if (departure.gone || response.headersSent || (stream !== undefined && silent)) await stream?.return?.();
  if (departure.gone || response.headersSent) return;

  const lingers = isLongUnread(request);
  // Where the host can see it: it may want to tell a stream, which has no end of its own, from an answer.
  if (stream !== undefined) response.setHeader('content-type', headers['content-type'] ?? 'text/event-stream');
  const length = whole === undefined || bare ? undefined : { 'content-length': Buffer.byteLength(whole) };
  response.writeHead(status, Object.assign({}, length, lingers ? { connection: 'close' } : undefined, headers));
  if (lingers) {
    // Node ends the connection as soon as the answer has ended, which would reset it under a client that still sends.
    if (whole && !silent) response.write(whole);
    else response.flushHeaders();
    await discard(request);
    response.end();
  } else if (silent) response.end();
  else if (stream === undefined) response.end(whole);
  else await pump(stream, response, departure.signal);
}

/** Writes a stream at the pace of its reader. */
async function pump(stream: AsyncIterator<string>, response: ServerResponse, signal: AbortSignal): Promise<void> {
  // A source that waits for its next event would not notice otherwise.
  const stop = () => void Promise.resolve(stream.return?.()).catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  response.flushHeaders();
  while (!signal.aborted) {
    const { done, value } = await stream.next();
    if (signal.aborted) return;
    if (done) break;
    if (!response.write(value)) await once(response, 'drain', { signal }).catch(() => {});
  }
  signal.removeEventListener('abort', stop);
  if (!signal.aborted) response.end();
}

function isLongUnread({ complete, httpVersionMajor, headers }: IncomingMessage): boolean {
  return !complete && httpVersionMajor === 1 && !(Number(headers['content-length']) <= SMALL_BYTES);
}

async function discard(request: IncomingMessage): Promise<void> {
  let left = LINGER_BYTES;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    left -= chunk.length;
    if (left < 0) return;
  }
}
