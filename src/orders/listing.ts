import { OrderBookError } from '../errors.ts';
import type { OrderCursor, OrderQuery } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import { parseUid } from '../protocol/uid.ts';
import { formatUnknownName } from '../validation/options.ts';
import type { Order } from './order-json.ts';
import type { RenderedPage, RenderedResult } from './read.ts';
import type { UnreadableOrder } from './render-by-uids.ts';
import type { OrderStatus } from './status.ts';
import { ORDER_STATUSES } from './status.ts';

/** Which orders to list. Filters are combined by "and"; absent ones let everything through. */
export interface ListQuery {
  readonly owner?: string;
  readonly sellToken?: string;
  readonly buyToken?: string;
  readonly status?: OrderStatus;
  /** Where the page begins: `next` of the page before. */
  readonly cursor?: string;
  /** How many orders to skip. Keyset paging by `cursor` stays fast at any depth, this does not. */
  readonly offset?: number;
  /** Orders a page, 1 to 1000. Default 10. */
  readonly limit?: number;
}

/** One of many orders that were asked for (contract, "Order-by-UID result element"). */
export type OrderResult =
  | { readonly order: Order; readonly error?: undefined }
  | { readonly order?: undefined; readonly error: UnreadableOrder };

/** A page of orders. */
export interface OrderPage {
  readonly orders: Order[];
  /** The `cursor` of the next page; absent when this was the last one. */
  readonly next?: string;
}

const DEFAULT_PAGE = 10;
const LARGEST_PAGE = 1000;
/** Skipping further than this is rejected: beyond it only a cursor serves. */
const LARGEST_OFFSET = 1_000_000;

/**
 * Reads a listing's filters.
 *
 * @throws OrderBookError `InvalidParameter` naming the filter and what it may be.
 */
export function parseListQuery(query: ListQuery): Omit<OrderQuery, 'status'> & { readonly status?: OrderStatus } {
  const { cursor, status } = query;
  return {
    ...addressFilter(query, 'owner'),
    ...addressFilter(query, 'sellToken'),
    ...addressFilter(query, 'buyToken'),
    ...(status === undefined ? {} : { status: oneOfStatuses(status) }),
    ...(cursor === undefined ? {} : { after: parseCursor(cursor) }),
    offset: wholeNumber('offset', query.offset ?? 0, 0, LARGEST_OFFSET),
    limit: wholeNumber('limit', query.limit ?? DEFAULT_PAGE, 1, LARGEST_PAGE),
  };
}

/** A UID in lower case. @throws OrderBookError `InvalidParameter` when it is none. */
export function requireUid(text: string): Hex {
  const uid = parseUid(text);
  if (uid === undefined) throw invalid('uid', 'must be 0x and 112 hex digits');
  return uid;
}

/** A cursor names the last order of a page: its creation date in milliseconds, then its UID. Clients treat it as opaque. */
export function formatCursor({ creationDate, uid }: OrderCursor): string {
  return `${creationDate}-${uid}`;
}

function parseCursor(text: string): OrderCursor {
  const [, date, id] = /^(\d{1,15})-(0x[0-9a-fA-F]{112})$/.exec(text) ?? [];
  if (date === undefined || id === undefined) throw invalid('cursor', 'must be one that a page has answered with');
  return { creationDate: Number(date), uid: requireUid(id) };
}

/** The orders of a rendered page as objects. */
export function parsedPage({ orders, next }: RenderedPage): OrderPage {
  const page = { orders: orders.map(({ json }) => JSON.parse(json) as Order) }; // rendered from orders
  return next === undefined ? page : { ...page, next: formatCursor(next) };
}

/** Rendered results as objects. */
export function parsedResults(results: readonly RenderedResult[]): OrderResult[] {
  return results.map((result) =>
    result.error === undefined ? { order: JSON.parse(result.order.json) as Order } : { error: result.error },
  );
}

function addressFilter<K extends 'owner' | 'sellToken' | 'buyToken'>(
  query: ListQuery,
  name: K,
): { [key in K]?: Address } {
  const text: string | undefined = query[name];
  if (text === undefined) return {};
  const address = parseHex(text, 20);
  if (address === undefined) throw invalid(name, 'must be 0x and 40 hex digits');
  return { [name]: address } as { [key in K]?: Address }; // a computed key widens to string
}

function oneOfStatuses(text: string): OrderStatus {
  const status = ORDER_STATUSES.find((known) => known === text);
  if (status === undefined) throw invalid('status', formatUnknownName('status', text, ORDER_STATUSES));
  return status;
}

function wholeNumber(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(name, `must be a whole number from ${least} to ${most}`);
}

function invalid(parameter: string, reason: string): OrderBookError {
  return new OrderBookError('InvalidParameter', `${parameter}: ${reason}`, { parameter });
}
