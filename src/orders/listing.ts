import { OrderBookError } from '../errors.ts';
import type { OrderCursor, OrderQuery } from '../ports/store.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import { requireUid } from '../protocol/uid.ts';
import { formatUnknownName } from '../validation/options.ts';
import type { RenderedPage } from './list.ts';
import type { Order } from './order-json.ts';
import type { RenderedResult } from './read.ts';
import type { UnreadableOrder } from './render-by-uids.ts';
import type { OrderStatus } from './status.ts';
import { ORDER_STATUSES } from './status.ts';

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

const FILTERS = [
  'owner',
  'sellToken',
  'buyToken',
  'status',
  'cursor',
  'offset',
  'limit',
] as const satisfies readonly (keyof ListQuery)[];

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1000;
/** Maximum offset. A listing beyond it needs a cursor. */
const MAX_OFFSET = 1_000_000;

/**
 * Parses the filters of a listing.
 *
 * @throws OrderBookError `InvalidParameter` with the name of the filter and its valid values.
 */
export function parseListQuery(query: ListQuery): Omit<OrderQuery, 'status'> & { readonly status?: OrderStatus } {
  const { cursor, status } = query;
  assertKnownFilters(Object.keys(query), FILTERS);
  return {
    ...parseAddressFilter(query, 'owner'),
    ...parseAddressFilter(query, 'sellToken'),
    ...parseAddressFilter(query, 'buyToken'),
    ...(status === undefined ? {} : { status: parseStatus(status) }),
    ...(cursor === undefined ? {} : { after: parseCursor(cursor) }),
    offset: parseInteger('offset', query.offset ?? 0, 0, MAX_OFFSET),
    limit: parseInteger('limit', query.limit ?? DEFAULT_LIMIT, 1, MAX_LIMIT),
  };
}

/**
 * Rejects unknown filters, which would otherwise select more than the caller expects.
 *
 * @throws OrderBookError `InvalidParameter` with the most similar known name.
 */
export function assertKnownFilters(given: Iterable<string>, known: readonly string[]): void {
  for (const name of given) {
    // The name is the client's and may be long.
    if (!known.includes(name)) throw invalid(name.slice(0, 64), formatUnknownName('filter', name, known));
  }
}

/** Formats a cursor from the last order of a page: creation date in milliseconds, then UID. It is opaque to clients. */
export function formatCursor({ creationDate, uid }: OrderCursor): string {
  return `${creationDate}-${uid}`;
}

function parseCursor(text: string): OrderCursor {
  const [, date, id] = /^(\d{1,15})-(0x[0-9a-fA-F]{112})$/.exec(text) ?? [];
  if (date === undefined || id === undefined) throw invalid('cursor', 'must be the `next` value of a page');
  return { creationDate: Number(date), uid: requireUid(id) };
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

function parseAddressFilter<K extends 'owner' | 'sellToken' | 'buyToken'>(
  query: ListQuery,
  name: K,
): { [key in K]?: Address } {
  const text: string | undefined = query[name];
  if (text === undefined) return {};
  const address = parseHex(text, 20);
  if (address === undefined) throw invalid(name, 'must be 0x and 40 hex digits');
  return { [name]: address } as { [key in K]?: Address }; // a computed key widens to string
}

function parseStatus(text: string): OrderStatus {
  const status = ORDER_STATUSES.find((each) => each === text);
  if (status === undefined) throw invalid('status', formatUnknownName('status', text, ORDER_STATUSES));
  return status;
}

function parseInteger(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw invalid(name, `must be an integer from ${min} to ${max}`);
}

function invalid(parameter: string, reason: string): OrderBookError {
  return new OrderBookError('InvalidParameter', `${parameter}: ${reason}`, { parameter });
}
