import type { OrderCancellations } from '../../orders/cancel.ts';
import { jsonResponse, rejectionResponse } from '../response.ts';
import type { Route } from '../route.ts';
import { LIST_BODY_LIMIT } from '../route.ts';

/** Cancels up to 128 orders with one signature, all of them or none (decision 2.21). */
export const deleteOrders: Route = {
  method: 'DELETE',
  path: '/api/v1/orders',
  bodyLimit: LIST_BODY_LIMIT,
  async handle({ book, body }) {
    const result = await book.orders.cancel(withoutSingle(body));
    return result.status === 'cancelled' ? jsonResponse(200, 'Cancelled') : rejectionResponse(result.error);
  },
};

/** This route knows lists only: a stray `orderUid` is an unknown key here, and ignored like any other. */
function withoutSingle(body: unknown): OrderCancellations {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body as OrderCancellations; // `cancel` reads its shape
  const { orderUid: _, ...rest } = body as OrderCancellations & { orderUid?: unknown }; // likewise
  return rest;
}
