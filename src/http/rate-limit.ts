import type { Limiter, RequestKind } from '../ports/limiter.ts';
import type { ApiRequest, ApiResponse } from './message.ts';

/** Options of the rate limit. */
export interface RateLimitOptions {
  /** The limiter. Several interfaces may share one. Default: no limit. */
  readonly limiter?: Limiter;
  /**
   * Addresses and ranges of proxies whose `X-Forwarded-For` is trusted: `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`. Default:
   * none; the client is the remote address of the socket.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * Returns the client of a request that identifies itself, for example by an API key. Its limits and its turns in
   * queues are those of this client. `undefined`: the client is the address. A thrown `OrderBookError` rejects the
   * request. Default: every client is an address.
   */
  readonly identifyClient?: (request: ApiRequest) => string | undefined;
}

/** The charge for a request. `free`: not limited. */
export interface RequestCost {
  readonly kind: RequestKind | 'free';
  /** Tokens that are taken before the response. */
  readonly tokens: number;
  /** Rows that one token pays for. Absent: rows are not charged. */
  readonly rowsPerToken?: number;
  /** Bytes of the body that one further token pays for. Absent: the route reads no body. */
  readonly bytesPerToken?: number;
  /** The part of `tokens` that pays for the declared length of the body. */
  readonly bodyTokens?: number;
  /** Whether the request waits for nothing but the store. Absent: false. */
  readonly isStoreRead?: boolean;
  /** Whether the response is an event stream. The number of open streams per client is limited. */
  readonly stream: boolean;
}

/** Counts the work of a request, also if it fails. */
export interface RequestMeter {
  /** Rows that were read for the response, until the end of its body. */
  rows: number;
  /** Bytes of the body that have been read. */
  bytes: number;
}

/**
 * Admits a request and calls `respond`, or throws `RateLimited` with seconds in `data.retryAfter`. A stream counts
 * until it ends or its client disconnects. Tokens are taken before; the difference to the cost of the work that was
 * done is charged or returned after it. Admitted requests begin in turns by client. Of one client, at most two long
 * reads and eight reads of the store run at a time, and its others wait.
 */
export type RateLimitGuard = (
  request: ApiRequest,
  cost: RequestCost,
  respond: (meter: RequestMeter) => Promise<ApiResponse>,
) => Promise<ApiResponse>;
