/** The cost class of a request. Reads are allowed more often than writes. */
export type RequestKind = 'read' | 'write';

/** Whether a request of a client is admitted. */
export type Admission =
  | { readonly status: 'admitted' }
  /** `retryAfter`: seconds to wait, at least 1, if known. */
  | { readonly status: 'rejected'; readonly retryAfter?: number };

/** Whether a client may open another event stream. */
export type StreamAdmission =
  | {
      readonly status: 'admitted';
      /** Called once, after the stream has ended. An error is reported as `failure`. */
      readonly release: () => void;
    }
  | { readonly status: 'rejected'; readonly retryAfter?: number };

/**
 * Limits the HTTP requests and the open event streams per client. Calls in process are never limited.
 *
 * A client is identified by an IPv4 address or by the /64 prefix of an IPv6 address. A limiter MUST use bounded memory
 * for any number of clients. If it throws or rejects, the request is admitted and the error is reported as `failure`: a
 * failing limiter must not take the interface down.
 */
export interface Limiter {
  /**
   * Takes the tokens of one request from a client's bucket. A rejected request SHOULD cost nothing.
   *
   * @param tokens - The cost of the request, a positive integer. Default: 1. A cost above the size of the bucket MUST
   * be admitted when the bucket is full.
   */
  take(client: string, kind: RequestKind, tokens?: number): Admission | Promise<Admission>;
  /**
   * Takes the rest of a cost that is known only after the response, such as the number of its rows. The number of
   * remaining tokens may become negative. Negative `tokens` are returned to the bucket, because the request cost less
   * than was taken for it. Absent: only `take` is charged.
   */
  charge?(client: string, kind: RequestKind, tokens: number): void | Promise<void>;
  /** Opens one event stream of a client. The request that opens it has already been charged. */
  open(client: string): StreamAdmission | Promise<StreamAdmission>;
}
