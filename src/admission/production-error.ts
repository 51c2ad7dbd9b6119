import { OrderBookError } from '../errors.ts';
import { CODE_DIFFERENCES } from '../protocol/profile-codes.ts';
import { UpstreamError } from './upstream-error.ts';

/** A rejection whose status is not that of its code in the specification. */
class ProductionError extends OrderBookError {
  readonly #status: number;

  constructor({ message, data }: OrderBookError, code: OrderBookError['code'], status: number) {
    super(code, message, data);
    this.#status = status;
  }

  override get status(): number {
    return this.#status;
  }
}

/** Converts a rejection to the code and the status of the production profile. */
export function toProductionError(error: OrderBookError): OrderBookError {
  if (error instanceof UpstreamError) return error; // its code is already that of the other book
  const { code, detail } = error;
  const found = CODE_DIFFERENCES.find((each) => each.code === code && each.detail === detail);
  return found === undefined ? error : new ProductionError(error, found.production.code, found.production.status);
}
