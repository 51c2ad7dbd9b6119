import { type ErrorCode, type ErrorData, OrderBookError } from '../errors.ts';
import type { UpstreamRejection } from '../ports/upstream.ts';

/** A rejection of the other book, passed on with its code, text and HTTP status. The code may be unknown here. */
export class UpstreamError extends OrderBookError {
  readonly #status: number;

  constructor({ code, description, httpStatus, data }: Omit<UpstreamRejection, 'status'>) {
    super(code as ErrorCode, description, toData(data)); // clients branch on the other book's code
    this.#status = httpStatus;
  }

  override get status(): number {
    return this.#status;
  }

  override get retryable(): boolean {
    return this.#status >= 500 || this.#status === 429;
  }
}

function toData(data: unknown): ErrorData | undefined {
  return typeof data === 'object' && data !== null ? (data as ErrorData) : undefined; // any JSON object
}

/** Returns the rejection of a write that the other book cannot receive now. */
export function createUnavailable(name: string, reason: string, until?: number): OrderBookError {
  return new OrderBookError('UpstreamUnavailable', `${name} cannot be reached: ${reason}`, {
    upstream: name,
    reason,
    ...(until === undefined ? {} : { retryAt: until }),
  });
}
