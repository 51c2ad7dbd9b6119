/** The status codes of `AccountError`. */
export type AccountErrorStatus = 400 | 401 | 403 | 404 | 409 | 410 | 429 | 503;

/**
 * A rejection of the account interface. The HTTP body is `{message}`. Malformed input is rejected with an
 * `OrderBookError` instead, whose message is sent in the same format.
 */
export class AccountError extends Error {
  override readonly name = 'AccountError';
  readonly status: AccountErrorStatus;
  /** Seconds after which the request may succeed; absent if a retry does not help. */
  readonly retryAfter: number | undefined;

  constructor(
    status: AccountErrorStatus,
    message: string,
    retryAfter?: number,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}
