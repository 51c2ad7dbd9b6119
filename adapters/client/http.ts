/** Options of a client. */
export interface ClientOptions {
  /** Default: the global `fetch`. */
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
  /** Headers of every request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Timeout of a request that is not a stream, in milliseconds. Default: 30000. */
  readonly timeout?: number;
  /**
   * Longest delay before a stream is opened again, in milliseconds. The first delay is 250. A longer `Retry-After` of
   * the server is respected. Default: 15000.
   */
  readonly maxDelay?: number;
  /** Time without data after which a stream is opened again, in milliseconds. Default: 45000. */
  readonly silence?: number;
  /**
   * Maximum size of a response, and of an event of a stream, in bytes. Without effect if `fetch` returns no streams, as
   * in React Native. Default: 50000000.
   */
  readonly maxBytes?: number;
}

/** Error response of the server. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly status: number;
  /** Error code, such as `InsufficientBalance`. Absent if the response has none. */
  readonly code: string | undefined;
  /** Values of the error. */
  readonly data: unknown;
  /** Time after which the server accepts the next request, in milliseconds. Absent if the response has none. */
  readonly retryAfter: number | undefined;
  /** Whether the same request may succeed later, as for `OrderBookError`. */
  readonly retryable: boolean;

  constructor(
    status: number,
    body?: { readonly errorType?: string; description?: string; message?: string; data?: unknown } | null,
    retryAfter?: number,
  ) {
    super(body?.description ?? body?.message ?? `the server responded with status ${status}`);
    this.status = status;
    this.code = body?.errorType;
    this.data = body?.data;
    this.retryAfter = retryAfter;
    this.retryable = status >= 500 || status === 408 || status === 429;
  }
}

const OPTIONS = ['fetch', 'headers', 'timeout', 'maxDelay', 'silence', 'maxBytes'];

/** Maximum delay of a timer, in milliseconds. */
const MAX_DELAY = 2 ** 31 - 1;

/** Response or event above the size limit. It is not requested again. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';

  constructor(maxBytes: number) {
    super(`a response or event must have at most ${maxBytes} bytes`);
  }
}

async function readJson(response: Response, maxBytes: number): Promise<unknown> {
  const reader = response.body?.getReader?.();
  // React Native, and libraries for older versions of Node.js, have no stream of the body.
  if (!reader) return response.json();
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    size += chunk.value.length;
    if (size > maxBytes) {
      await reader.cancel();
      throw new TooLargeError(maxBytes);
    }
    text += decoder.decode(chunk.value, { stream: true });
  }
  return JSON.parse(text + decoder.decode());
}

/** Reads the error of a response. A proxy may respond with a body that is not JSON. */
export async function readRequestError(response: Response, maxBytes: number): Promise<RequestError> {
  const body: unknown = await readJson(response, maxBytes).catch(() => undefined);
  const retryAfter = parseRetryAfter(response.headers.get('retry-after')?.trim() ?? '');
  const { status, headers } = response;
  // A browser hides the status and the target of a redirection.
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const description = `the server redirects to ${headers.get('location') ?? 'another URL'}, which the client must use`;
  return new RequestError(status, isRedirect ? { description } : (body as object), retryAfter); // the format of errors
}

/** Parses seconds or a date (RFC 9110, 10.2.3). Returns milliseconds. */
function parseRetryAfter(text: string): number | undefined {
  // A date begins with the day of the week. `Date.parse` accepts many other texts. Without a zone, it is in UTC.
  const date = /^[A-Za-z]/.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
  const delay = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : date - Date.now();
  return Number.isNaN(delay) ? undefined : Math.min(Math.max(delay, 0), MAX_DELAY);
}

/** A JSON response and its `Link` header. */
export interface JsonResponse<T> {
  readonly body: T;
  readonly link: string | null;
}

/** Parts of a request that most requests do not have. */
interface RequestParts {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly init?: RequestInit;
  readonly signal?: AbortSignal | undefined;
}

export type QueryParameters = Readonly<Record<string, string | number | undefined>>;

/** Returns the parts of a request with a required body. @throws TypeError naming the argument. */
export function toBody(argument: string, body: unknown): RequestParts {
  if (Object(body) === body) return { body };
  throw new TypeError(`${argument} must be an object, got ${body}`);
}

/** Rejects unknown members, which would be ignored. @throws TypeError naming the known ones. */
export function assertKnown(what: string, given: object, known: readonly string[]): void {
  const unknown = given && Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`${what} "${unknown}", use ${known.join(', ')}`);
}

/**
 * Creates the function that sends requests with JSON.
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function createSender(url: string, options: ClientOptions, prefix = '/api/v1/') {
  assertKnown('createClient: unknown option', options, OPTIONS);
  const { fetch: send = fetch, headers = {}, timeout = 30_000, maxBytes = 50_000_000 } = options;
  if (typeof send !== 'function') throw new TypeError(`createClient: fetch must be a function, got ${send}`);
  for (const name of ['timeout', 'maxDelay', 'silence', 'maxBytes'] as const) {
    const value = options[name];
    if (value === undefined || (typeof value === 'number' && value > 0 && value <= MAX_DELAY)) continue;
    throw new TypeError(`createClient: ${name} must be a number above 0, up to ${MAX_DELAY}, got ${value}`);
  }
  let isAuthorized: boolean;
  try {
    isAuthorized = new Headers(headers as Record<string, string>).has('authorization');
  } catch {
    // The error may repeat a value, which may be secret.
    throw new TypeError('createClient: headers must be valid');
  }
  const { base, credentials } = parseUrl(url);
  const authorization = credentials === undefined || isAuthorized ? {} : { authorization: `Basic ${credentials}` };

  async function open(path: string, init: RequestInit = {}): Promise<Response> {
    const target = base + prefix + path;
    try {
      const all = { ...authorization, ...headers, ...init.headers };
      // `fetch` would send the headers to another host, and a POST as a GET.
      return await send(target, { ...init, redirect: 'manual', headers: all });
    } catch (cause) {
      if (init.signal?.aborted === true) throw cause;
      // The error of `fetch` does not name the URL.
      throw new Error(`${target.replace(/\?.*/, '')} cannot be reached: ${formatCause(cause)}`, { cause });
    }
  }

  async function request<T>(
    method: string,
    path: string,
    { body, init, signal: ended }: RequestParts = {},
  ): Promise<JsonResponse<T>> {
    const content =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const limit = AbortSignal.timeout(Math.ceil(timeout)); // Node.js requires an integer
    const signal = ended === undefined ? limit : AbortSignal.any([limit, ended]);
    const response = await open(path, { method, ...content, ...init, signal });
    if (!response.ok) throw await readRequestError(response, maxBytes);
    const result = await readJson(response, maxBytes);
    return { body: result as T, link: response.headers.get('link') }; // the format that the route documents
  }

  return { open, request, maxBytes };
}

/**
 * Parses the URL of a book: an http or https URL, or a path that a browser resolves. A user and a password are moved to
 * a Basic `Authorization` header, unless the headers have one: `fetch` rejects URLs with credentials, and its error
 * repeats them.
 */
function parseUrl(url: string) {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const [allowed, text] = parsed ? [/^https?:/, parsed.protocol] : [/^(?:$|[./])/, url];
  const isValid = typeof url === 'string' && allowed.test(text);
  // A password and a path are not repeated, because they may be secret.
  if (!isValid) {
    const shown = typeof url === 'object' ? 'an object' : String(url).replace(/.*@|(?<=[^:/])[/?#].*/gs, '…');
    throw new TypeError(`createClient: url must be an http or https URL, got ${shown}`);
  }
  // The path of a request is appended, and would become a part of them.
  if (/[?#]/.test(url)) throw new TypeError('createClient: url must have no query or fragment');
  // It is appended to each request.
  if (/\/api\/v1\/*$/.test(url)) throw new TypeError('createClient: url must end before "/api/v1"');
  const { username = '', password = '' } = parsed ?? {};
  if (!parsed || username + password === '') return { base: url.replace(/\/+$/, '') };
  parsed.username = '';
  parsed.password = '';
  const bytes = new TextEncoder().encode(`${decodePercent(username)}:${decodePercent(password)}`);
  return { base: parsed.href.replace(/\/+$/, ''), credentials: btoa(String.fromCharCode(...bytes)) };
}

/**
 * Returns the innermost message of a failed connection, such as `connect ECONNREFUSED 127.0.0.1:8080`: the first one of
 * attempts at several addresses.
 */
function formatCause(error: unknown): string {
  const { errors, cause = errors?.[0], message } = Object(error) as Partial<AggregateError>;
  return cause ? formatCause(cause) : String(message ?? error);
}

/** Decodes percent encoding. Returns a text with an invalid encoding unchanged. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export type Sender = ReturnType<typeof createSender>;

/** Renders a query string. Undefined values are left out. */
export function toQuery(values: QueryParameters): string {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return String(new URLSearchParams(present.map(([name, value]): [string, string] => [name, String(value)])));
}

/** Returns the cursor of the next page from a `Link` header. */
export function getNextCursor(link: string | null): string | undefined {
  const next = /[?&]cursor=([^&>]*)/.exec(link ?? '')?.[1];
  return next === undefined ? undefined : decodeURIComponent(next);
}

/** Returns the body of a response, or undefined if it is the error of a resource that does not exist. */
export async function orUndefined<T>(
  response: Promise<JsonResponse<T>>,
  isMissing: (error: RequestError) => boolean,
): Promise<T | undefined> {
  try {
    return (await response).body;
  } catch (error) {
    // A proxy and a server at another path respond with 404 as well.
    if (error instanceof RequestError && error.status === 404 && isMissing(error)) return undefined;
    throw error;
  }
}
