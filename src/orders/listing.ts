import { OrderBookError } from '../errors.ts';
import type { OrderCursor } from '../ports/store.ts';
import { formatUnknownName } from '../validation/options.ts';
import type { RenderedPage } from './list.ts';
import type { Order } from './order-json.ts';
import type { RenderedResult } from './read.ts';
import type { UnreadableOrder } from './render-by-uids.ts';
import type { OrderStatus } from './status.ts';

/** The filters of a listing, combined by "and". Default: all orders. */
export interface ListQuery {
  readonly owner?: string;
  readonly sellToken?: string;
  readonly buyToken?: string;
  readonly status?: OrderStatus;
  /** Start of the page: `next` of the previous page. */
  readonly cursor?: string;
  /** Number of orders to skip. Default: 0. Slow for large values; paging by `cursor` is fast at any depth. */
  readonly offset?: number;
  /** Page size, 1 to 1000. Default: 10. */
  readonly limit?: number;
}

/** One result of reading many orders. */
export type OrderResult =
  | { readonly order: Order; readonly error?: undefined }
  | { readonly order?: undefined; readonly error: UnreadableOrder };

/** A page of orders. */
export interface OrderPage {
  readonly orders: Order[];
  /** The `cursor` of the next page; absent on the last page. */
  readonly next?: string;
}

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

/** Formats a cursor from the last order of a page: creation date in milliseconds, then UID. It is opaque to clients. */
export function formatCursor({ creationDate, uid }: OrderCursor): string {
  return `${creationDate}-${uid}`;
}

/** Converts a rendered page into objects. */
export function toOrderPage({ orders, next }: RenderedPage): OrderPage {
  const page = { orders: orders.map(({ json }) => JSON.parse(json) as Order) }; // JSON of orders
  return next === undefined ? page : { ...page, next: formatCursor(next) };
}

/** Converts rendered results into objects. */
export function toOrderResults(results: readonly RenderedResult[]): OrderResult[] {
  return results.map((result) =>
    result.error === undefined ? { order: JSON.parse(result.order.json) as Order } : { error: result.error },
  );
}

/** Creates the error of a filter whose value is not valid. */
export function invalidFilter(parameter: string, reason: string): OrderBookError {
  return new OrderBookError('InvalidParameter', `${parameter}: ${reason}`, { parameter });
}
