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

  constructor(
    status: number,
    body?: { readonly errorType?: string; description?: string; data?: unknown } | null,
    retryAfter?: number,
  ) {
    super(body?.description ?? `the server responded with status ${status}`);
    this.status = status;
    this.code = body?.errorType;
    this.data = body?.data;
    this.retryAfter = retryAfter;
  }
}

/** Maximum delay of a timer, in milliseconds. */
const MAX_DELAY = 2 ** 31 - 1;

/** Reads the error of a response. A proxy may respond with a body that is not JSON. */
export async function readRequestError(response: Response): Promise<RequestError> {
  const body: unknown = await response.json().catch(() => undefined);
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = seconds >= 0 ? Math.min(seconds * 1000, MAX_DELAY) : undefined;
  return new RequestError(response.status, body as object, retryAfter); // the format of error responses
}

/** A JSON response and its `Link` header. */
export interface JsonResponse<T> {
  readonly body: T;
  readonly link: string | null;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/**
 * Creates the function that sends requests with JSON.
 *
 * @throws TypeError if a duration of the options is malformed.
 */
export function createSender(url: string, options: ClientOptions) {
  const { fetch: send = fetch, headers = {}, timeout = 30_000 } = options;
  for (const name of ['timeout', 'maxDelay', 'silence'] as const) {
    const value = options[name] ?? 1;
    if (value > 0 && value <= MAX_DELAY) continue;
    throw new TypeError(`createClient: ${name} must be a number above 0 and up to ${MAX_DELAY}, got ${value}`);
  }
  const base = url.replace(/\/+$/, '');

  function open(path: string, init: RequestInit = {}): Promise<Response> {
    return send(`${base}/api/v1/${path}`, { ...init, headers: { ...headers, ...init.headers } });
  }

  async function request<T>(
    method: string,
    path: string,
    body?: unknown,
    ended?: AbortSignal,
  ): Promise<JsonResponse<T>> {
    const init =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const limit = AbortSignal.timeout(timeout);
    const signal = ended === undefined ? limit : AbortSignal.any([limit, ended]);
    const response = await open(path, { method, ...init, signal });
    if (!response.ok) throw await readRequestError(response);
    const content: unknown = await response.json();
    return { body: content as T, link: response.headers.get('link') }; // the format that the route documents
  }

  return { open, request };
}

export type Sender = ReturnType<typeof createSender>;

/** Renders a query string. Undefined values are left out. */
export function toQuery(values: Query): string {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return String(new URLSearchParams(Object.fromEntries(present.map(([name, value]) => [name, String(value)]))));
}
