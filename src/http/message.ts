import { OrderBookError } from '../errors.ts';
import { describeClosed } from '../ports/store.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from '../protocol/json.ts';

/**
 * A request, created by a mount. The core never receives a framework's object. Members may be computed when they are
 * read; a wrapper refers to the original request instead of copying it.
 */
export interface ApiRequest {
  /** In upper case. */
  readonly method: string;
  /** The path after the mount's prefix, percent-encoded, without the query: `/api/v1/orders`. */
  readonly path: string;
  /** The query string without `?`. Empty if there is none. */
  readonly query: string;
  /** Returns a header by its name in lower case. Repeated headers are joined by `, `. */
  header(name: string): string | undefined;
  readonly body: ApiRequestBody;
  /** Aborted when the client disconnects. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the client has disconnected, where this is cheaper than `signal`. Default: the state of `signal`. */
  readonly aborted?: boolean | undefined;
  /**
   * Returns `size` bytes for the body of the response, which the mount uses again for other responses after it has sent
   * this one. Default: new memory, which is left to the garbage collector.
   */
  readonly allocate?: ((size: number) => Uint8Array) | undefined;
  /** The remote address of the socket, for rate limits. */
  readonly remoteAddress?: string | undefined;
}

/**
 * The body of a request: unread chunks, or the result of a framework that has read it. The core reads chunks itself, so
 * that it can stop at the route's limit.
 */
export type ApiRequestBody =
  | { readonly type: 'none' }
  | { readonly type: 'chunks'; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly type: 'bytes'; readonly bytes: Uint8Array | string }
  | { readonly type: 'parsed'; readonly value: unknown };

/**
 * A response. Header names are in lower case. The body is text, bytes, a list of bytes that follow each other, or a
 * stream of text. A mount reads the next chunk of a stream after the client has received the previous one, and calls
 * the iterator's `return` when the client disconnects.
 */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | readonly Uint8Array[] | AsyncIterable<string> | undefined;
}

/** An HTTP interface: of a book, of accounts, or a combination. */
export interface Api {
  /** Creates the response. Never rejects. */
  handle(request: ApiRequest): Promise<ApiResponse>;

  /**
   * Returns whether a path belongs to this interface. A mount at the root of a host passes other paths on to the host.
   * Absent: every path belongs to it.
   */
  handlesPath?(path: string): boolean;
}

/** Returns whether the target of a mount is an interface. Other values are passed to `createApi`. */
export function isApi(target: object | undefined): target is Api {
  return typeof target === 'object' && target !== null && 'handle' in target;
}

const JSON_TYPE = /^application\/(?:[^;,\s]+\+)?json\s*(?:;|$)/i;

/** The size of a body that has not been parsed. */
export interface BodySize {
  readonly bytes: number;
  /** Number of commas. A list has one less than elements; strings may contain others. */
  readonly commas: number;
}

/** How a body is read. */
export interface BodyOptions {
  /** Maximum size, in bytes. */
  readonly limit: number;
  /** Receives the bytes that have been read. */
  readonly meter?: { bytes: number };
  /** Throws to reject a body by its size, before it is parsed. */
  readonly check?: ((size: BodySize) => void) | undefined;
}

/**
 * Reads a JSON body. A body that the host's framework has parsed is used as it is.
 *
 * @throws OrderBookError `UnsupportedMediaType`, `PayloadTooLarge` or `InvalidJson`.
 */
export async function readJson(request: ApiRequest, { limit, meter, check }: BodyOptions): Promise<unknown> {
  const encoding = request.header('content-encoding') ?? '';
  // The header is a list, which may have empty elements (RFC 9110, 5.6.1).
  if (encoding.split(',').some((coding) => !['', 'identity'].includes(coding.trim().toLowerCase()))) {
    throw new OrderBookError('UnsupportedMediaType', 'the body must not be compressed', { encoding });
  }
  const contentType = request.header('content-type') ?? null;
  if (contentType === null || !JSON_TYPE.test(contentType)) {
    throw new OrderBookError('UnsupportedMediaType', undefined, { contentType, expected: 'application/json' });
  }

  const declared = Number(request.header('content-length'));
  if (declared > limit) throw tooLarge(limit);
  const { body } = request;
  if (body.type === 'parsed') {
    if (getDepth(body.value) > MAX_JSON_DEPTH) throw tooDeep();
    return body.value;
  }
  const bytes = body.type === 'none' ? NO_BYTES : await readBytes(body, limit, meter);
  check?.({ bytes: bytes.length, commas: countCommas(bytes) });
  const text = decode(bytes);
  if (isNestedDeeper(text, MAX_JSON_DEPTH)) throw tooDeep();
  try {
    return JSON.parse(text);
  } catch {
    throw new OrderBookError('InvalidJson', text === '' ? 'the body is empty' : 'the body is not JSON');
  }
}

const decoder = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true });

type UnreadBody = Exclude<ApiRequest['body'], { type: 'none' | 'parsed' }>;

const NO_BYTES = /* @__PURE__ */ new Uint8Array();

const COMMA = 0x2c;

function countCommas(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(COMMA); at >= 0; at = bytes.indexOf(COMMA, at + 1)) count++;
  return count;
}

async function readBytes(body: UnreadBody, limit: number, meter: BodyOptions['meter']): Promise<Uint8Array> {
  if (body.type === 'chunks') return gather(body.chunks, limit, meter);
  const bytes = asBytes(body.bytes);
  if (meter !== undefined) meter.bytes = bytes.length;
  if (bytes.length > limit) throw tooLarge(limit);
  return bytes;
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new OrderBookError('InvalidJson', 'the body is not UTF-8');
  }
}

function asBytes(bytes: Uint8Array | string): Uint8Array {
  return typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
}

/** Reads chunks up to the limit. Leaving the loop makes the source stop. */
async function gather(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
  meter: BodyOptions['meter'],
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (meter !== undefined) meter.bytes = size;
    if (size > limit) throw tooLarge(limit);
    parts.push(chunk);
  }
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Returns the nesting depth of a value, up to just above the limit. Iterates by level, so that depth uses no stack. */
function getDepth(value: unknown): number {
  let level = [value].filter(isContainer);
  let depth = 0;
  while (level.length > 0 && depth <= MAX_JSON_DEPTH) {
    depth++;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return depth;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function tooDeep(): OrderBookError {
  return new OrderBookError('InvalidJson', `the body is nested deeper than ${MAX_JSON_DEPTH}`, {
    maxDepth: MAX_JSON_DEPTH,
  });
}

function tooLarge(limit: number): OrderBookError {
  return new OrderBookError('PayloadTooLarge', `the body is larger than ${limit} bytes`, { limit });
}

type Headers = Readonly<Record<string, string>>;

/** Headers of every response, errors included: any origin may read, without credentials. */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers':
    'Origin, Content-Type, Cache-Control, If-None-Match, X-API-Key, X-AppId, X-Auth-Token, X-Client-Id, Authorization, Last-Event-ID',
  'access-control-expose-headers': 'Link, ETag, Retry-After',
} as const;

/** Headers of the response to OPTIONS. They are the same for every path. */
export const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  'access-control-max-age': '86400',
} as const;

/**
 * Joins headers; the second set wins, except that both values of `vary` apply. `Object.assign` is about ten times as
 * fast as a spread of unknown keys in V8.
 */
export function joinHeaders(first: Headers, second: Headers): Headers {
  const joined: Record<string, string> = Object.assign({}, first, second);
  if (first['vary'] !== undefined && second['vary'] !== undefined)
    joined['vary'] = `${first['vary']}, ${second['vary']}`;
  return joined;
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' } as const;

/** Creates a response whose body is JSON. Not cacheable unless `headers` set `cache-control`. */
export function jsonText(status: number, body: NonNullable<ApiResponse['body']>, headers: Headers = {}): ApiResponse {
  return { status, headers: joinHeaders(JSON_HEADERS, headers), body };
}

export function jsonResponse(status: number, body: unknown, headers: Headers = {}): ApiResponse {
  return jsonText(status, JSON.stringify(body), headers);
}

/** Compares entity tags weakly (RFC 9110, section 13.1.2). */
export function matchesEtag(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')));
}

/** Creates the order book interface's response to a rejection: `{ errorType, description, data }`. */
export function rejectionResponse(error: OrderBookError, headers: Headers = {}): ApiResponse {
  const retry = error.retryable ? { 'retry-after': String(error.data?.['retryAfter'] ?? 1) } : {};
  return jsonResponse(error.status, error, { ...retry, ...headers });
}

/** Creates the response to an unexpected failure, or of a book that does not run. It carries no internal details. */
export function failureResponse(error: unknown): ApiResponse {
  const description = describeClosed(error) ?? '';
  const status = description === '' ? 500 : 503;
  return jsonResponse(status, { errorType: 'InternalServerError', description }, { 'retry-after': '1' });
}
