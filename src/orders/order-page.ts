import type { OrderCursor } from '../ports/store.ts';
import type { Order, RenderedResult, UnreadableOrder } from '../records/order-json.ts';
import type { RenderedPage } from './list-orders.ts';

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
