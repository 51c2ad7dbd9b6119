import type { Order, RenderedResult } from '../records/order-json.ts';
import { formatCursor, type OrderPage, type OrderResult, type RenderedPage } from '../records/results.ts';

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
