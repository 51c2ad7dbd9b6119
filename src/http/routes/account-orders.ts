import { listingQuery, pageOfOrders } from '../paging.ts';
import type { Route } from '../route.ts';

/** Lists an account's orders, newest first, by offset or by cursor (decision 2.26). */
export const accountOrders: Route = {
  method: 'GET',
  path: '/api/v1/account/:owner/orders',
  async handle({ book, param, query }) {
    const paging = listingQuery(query, ['offset', 'limit', 'cursor']);
    return pageOfOrders(await book.orders.rendered.list({ ...paging, owner: param('owner') }), query);
  },
};
