import { OrderBookError } from '../errors.ts';
import type { ListQuery } from '../orders/listing.ts';
import { formatCursor } from '../orders/listing.ts';
import type { RenderedPage } from '../orders/read.ts';
import type { ApiResponse } from './message.ts';
import { jsonText } from './response.ts';

/**
 * Reads the filters that a route knows from a query string; others are ignored.
 *
 * @throws OrderBookError `InvalidParameter` when one is given twice or is not a number where it must be one.
 */
export function listingQuery(query: URLSearchParams, names: readonly (keyof ListQuery)[]): ListQuery {
  const filter: Record<string, string | number> = {};
  for (const name of names) {
    const [value, ...more] = query.getAll(name);
    if (value === undefined) continue;
    if (more.length > 0) throw invalid(name, 'is given more than once');
    filter[name] = name === 'offset' || name === 'limit' ? wholeNumber(name, value) : value;
  }
  return filter as ListQuery; // names are its keys, and each value's meaning is judged by `list`
}

/** A page of orders as JSON, with the next page's address in `Link` when there is one (RFC 8288). */
export function pageOfOrders({ orders, next }: RenderedPage, query: URLSearchParams): ApiResponse {
  const body = `[${orders.map(({ json }) => json).join(',')}]`;
  if (next === undefined) return jsonText(200, body);
  const following = new URLSearchParams(query);
  following.delete('offset');
  following.set('cursor', formatCursor(next));
  // A reference that is a query only keeps the path that was asked for, whatever prefix it stands under (RFC 3986, 5.2.2).
  return jsonText(200, body, { link: `<?${following}>; rel="next"` });
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw invalid(name, 'must be a whole number');
  return Number(text);
}

function invalid(parameter: string, reason: string): OrderBookError {
  return new OrderBookError('InvalidParameter', `${parameter}: ${reason}`, { parameter });
}
