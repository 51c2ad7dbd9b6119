import { OrderBookError } from '../errors.ts';
import { formatUnknownName } from './options.ts';

/**
 * Rejects unknown filters, which would otherwise select more than the caller expects.
 *
 * @throws OrderBookError `InvalidParameter` with the most similar known name.
 */
export function assertKnownFilters(given: Iterable<string>, known: readonly string[]): void {
  for (const name of given) {
    // The name is the client's and may be long.
    if (!known.includes(name)) throw invalidFilter(name.slice(0, 64), formatUnknownName('filter', name, known));
  }
}

/** Creates the error of a filter whose value is not valid. */
export function invalidFilter(parameter: string, reason: string): OrderBookError {
  return new OrderBookError('InvalidParameter', `${parameter}: ${reason}`, { parameter });
}
