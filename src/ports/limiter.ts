/** What a request costs: reading is allowed more often than writing. */
export type RequestKind = 'read' | 'write';

/** Whether a client may go on. */
export type Admission =
  | { readonly status: 'admitted' }
  /** `retryAfter`: seconds to wait, at least 1, when that is known. */
  | { readonly status: 'rejected'; readonly retryAfter?: number };

/** Whether a client may have one more stream of events. */
export type StreamAdmission =
  | {
      readonly status: 'admitted';
      /** Called once, when the stream has ended. MUST NOT throw. */
      readonly release: () => void;
    }
  | { readonly status: 'rejected'; readonly retryAfter?: number };

/**
 * Decides how often a client may ask over HTTP, and how many streams of events it may have at once. Calls in process
 * are never limited.
 *
 * A client is the text that `clientOf` makes of an address: an IPv4 address, or the /64 of an IPv6 one. A limiter MUST
 * keep bounded memory whatever clients there are. One that throws or rejects lets the request pass, and what it threw
 * is told as `failure`: a limiter that is out of order must not take the interface down with it.
 */
export interface Limiter {
  /** Takes one request of a client. One that is rejected SHOULD cost nothing. */
  take(client: string, kind: RequestKind): Admission | Promise<Admission>;
  /** Opens one stream of a client. The request that opens it has been taken already. */
  open(client: string): StreamAdmission | Promise<StreamAdmission>;
}
