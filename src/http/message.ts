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
