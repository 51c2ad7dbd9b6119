import type { OrderCancellation } from '../../orders/cancel.ts';
import { requireUid } from '../../orders/listing.ts';
import { jsonResponse, rejectionResponse } from '../response.ts';
import type { Route } from '../route.ts';
import { BODY_LIMIT } from '../route.ts';

/** Cancels one order, by a signature over the single type or over a list of one (decision 2.21). */
export const deleteOrder: Route = {
  method: 'DELETE',
  path: '/api/v1/orders/:uid',
  bodyLimit: BODY_LIMIT,
  async handle({ book, body, param }) {
    const orderUid = requireUid(param('uid'));
    const rest = typeof body === 'object' && body !== null ? body : {};
    const result = await book.orders.cancel({ ...rest, orderUid } as OrderCancellation); // `cancel` reads its shape
    return result.status === 'cancelled' ? jsonResponse(200, 'Cancelled') : rejectionResponse(result.error);
  },
};
