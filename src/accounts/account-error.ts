/** The statuses that the account interface rejects with, besides those of `OrderBookError`. */
export type AccountErrorStatus = 400 | 401 | 403 | 404 | 409 | 410 | 429 | 503;

/**
 * A rejection of the account interface: on the wire `{message}` with its status (contract, "Errors"; decision 1.2). What is
 * malformed is rejected with an `OrderBookError` instead, whose message goes out alike.
 */
export class AccountError extends Error {
  override readonly name = 'AccountError';
  readonly status: AccountErrorStatus;
  /** Seconds after which the same request may succeed; absent when it will not. */
  readonly retryAfter: number | undefined;

  constructor(status: AccountErrorStatus, message: string, retryAfter?: number) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}
