import { type OrderStreamFilter, STREAM_FILTERS } from '../records/order-stream-filter.ts';

import { assertKnownFilters } from '../validation/options.ts';
import { LAST_EVENT_ID, queryText } from './query.ts';

/**
 * Reads the filter of an order stream. A pair is two addresses separated by a comma.
 *
 * @throws OrderBookError `InvalidParameter` for an unknown filter, or one that occurs twice.
 */
export function readStreamFilter(query: URLSearchParams): OrderStreamFilter {
  assertKnownFilters(
    [...query.keys()].filter((name) => name !== LAST_EVENT_ID),
    STREAM_FILTERS,
  );
  const filter: Record<string, string | readonly string[]> = {};
  for (const name of STREAM_FILTERS) {
    const value = queryText(query, name);
    if (value !== undefined) filter[name] = name === 'pair' ? value.split(',') : value;
  }
  return filter as OrderStreamFilter; // `stream` validates the values
}
