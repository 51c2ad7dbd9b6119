import { listingQuery, pageOfOrders } from '../paging.ts';
import type { Route } from '../route.ts';

/** Lists orders by status, token and owner, newest first (decision 2.32). */
export const listOrders: Route = {
  method: 'GET',
  path: '/api/v1/orders',
  async handle({ book, query }) {
    const filter = listingQuery(query, ['status', 'sellToken', 'buyToken', 'owner', 'cursor', 'limit']);
    return pageOfOrders(await book.orders.rendered.list(filter), query);
  },
};
