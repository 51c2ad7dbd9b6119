import { OrderBookError } from '../../errors.ts';
import { jsonText } from '../response.ts';
import type { Route } from '../route.ts';

/** Returns one order (contract, "GET /api/v1/orders/{uid}"), with a strong entity tag (decision 1.18). */
export const getOrder: Route = {
  method: 'GET',
  path: '/api/v1/orders/:uid',
  async handle({ book, param, request }) {
    const uid = param('uid');
    const order = await book.orders.rendered.get(uid);
    if (order === undefined) throw new OrderBookError('NotFound', 'there is no order with this UID', { uid });
    const headers = { etag: order.etag, 'cache-control': 'no-cache' };
    if (isKnown(order.etag, request.header('if-none-match'))) return { status: 304, headers };
    return jsonText(200, order.json, headers);
  },
};

/** Whether a client has this version already (RFC 9110, section 13.1.2, which compares weakly). */
function isKnown(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((known) => ['*', etag].includes(known.trim().replace(/^W\//, '')));
}
