/**
 * A request as data, made by a mount. The core never sees a framework's own object. Members may be read on demand, so
 * whoever passes a request on makes one that refers to it instead of a copy.
 */
export interface ApiRequest {
  /** Upper case. */
  readonly method: string;
  /** The path below the mount's prefix, still percent-encoded, without the query: `/api/v1/orders`. */
  readonly path: string;
  /** What follows the `?`, without it. Empty when there is none. */
  readonly query: string;
  /** Reads a header by its name in lower case. Several of one name are joined by `, `. */
  header(name: string): string | undefined;
  readonly body: ApiRequestBody;
  /** Aborted when the client has gone. */
  readonly signal?: AbortSignal | undefined;
  /** The client's socket address, for limits. */
  readonly remoteAddress?: string | undefined;
}

/**
 * The body of a request: chunks still to be read, or, where a framework has read it before us, what it has made of it.
 * Chunks are read by the core, so that it can stop at the route's limit.
 */
export type ApiRequestBody =
  | { readonly type: 'none' }
  | { readonly type: 'chunks'; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly type: 'bytes'; readonly bytes: Uint8Array | string }
  | { readonly type: 'parsed'; readonly value: unknown };

/**
 * An answer as plain data. Header names are in lower case. The body is text or bytes already rendered, or a stream of
 * text: a mount pulls its next chunk only once the client has taken the last one, and calls the iterator's `return`
 * when the client leaves.
 */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | AsyncIterable<string>;
}

/** Anything that answers requests: a book's interface, or several composed. */
export interface Api {
  /** Never rejects. */
  handle(request: ApiRequest): Promise<ApiResponse>;

  /**
   * Whether a path lies in this interface's own space. A mount at the root of a host answers only such paths and leaves
   * the others to the host. Absent: every path does.
   */
  handlesPath?(path: string): boolean;
}
