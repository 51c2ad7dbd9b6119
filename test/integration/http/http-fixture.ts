import type { Api, ApiRequest, ApiResponse } from 'intentbook';
import { onTestFinished } from 'vitest';

/** A request of the suite. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** A value is sent as JSON; text and bytes are sent unchanged. */
  readonly body?: unknown;
}

/** A response over any transport. */
export interface Answer {
  readonly status: number;
  header(name: string): string | undefined;
  readonly text: string;
  json(): unknown;
}

/** A served book. */
export interface HttpFixture {
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  /** Seconds since 1970 by the clock of the book. */
  now(): number;
}

/** Returns the bytes of a request body and its default content type. */
export function encode({ headers = {}, body }: Sent): {
  headers: Record<string, string>;
  bytes: Uint8Array | undefined;
} {
  if (body === undefined) return { headers, bytes: undefined };
  const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const bytes = typeof raw === 'string' ? new TextEncoder().encode(raw) : raw;
  return { headers: { 'content-type': 'application/json', ...headers }, bytes };
}

/**
 * Creates a response. A test that reads the body of another status than 200 must also read the status, before or after
 * the body: otherwise it fails at its end.
 */
export function answer(status: number, header: (name: string) => string | undefined, text: string): Answer {
  let isStatusKnown = status === 200;
  let isObserved = false;
  const readText = () => {
    if (!isStatusKnown && !isObserved) {
      isObserved = true;
      onTestFinished(() => {
        if (!isStatusKnown) throw new Error(`the test must read the status ${status} of the body ${text}`);
      });
    }
    return text;
  };
  return {
    get status() {
      isStatusKnown = true;
      return status;
    },
    header,
    get text() {
      return readText();
    },
    json: () => JSON.parse(readText()),
  };
}

/** Serves from the core without a socket. */
export function directFixture(api: Api, now: () => number): HttpFixture {
  return {
    now,
    async send(method, target, sent = {}) {
      const { headers, bytes } = encode(sent);
      const [path = '', query = ''] = target.split(/\?(.*)/s);
      const request: ApiRequest = {
        method,
        path,
        query,
        header: (name) => headers[name],
        body: bytes === undefined ? { type: 'none' } : { type: 'chunks', chunks: chunked(bytes) },
      };
      const { status, headers: answered, body = '' } = await api.handle(request);
      return answer(status, (name) => answered[name], await textOf(body));
    },
  };
}

async function textOf(body: NonNullable<ApiResponse['body']>): Promise<string> {
  if (typeof body === 'string') return body;
  if (!(Symbol.asyncIterator in body)) return new TextDecoder().decode(Buffer.concat([body].flat()));
  let text = '';
  for await (const part of body) text += part;
  return text;
}

/** Splits bytes into chunks, so that no case depends on a complete body. */
async function* chunked(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.length; i += 16_384) yield bytes.subarray(i, i + 16_384);
}

/** Serves over a socket. */
export function socketFixture(base: string, now: () => number): HttpFixture {
  return {
    now,
    async send(method, target, sent = {}) {
      const { headers, bytes } = encode(sent);
      const response = await fetch(base + target, { method, headers, ...(bytes === undefined ? {} : { body: bytes }) });
      return answer(response.status, (name) => response.headers.get(name) ?? undefined, await response.text());
    },
  };
}
