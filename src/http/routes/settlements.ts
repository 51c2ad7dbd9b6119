import { jsonResponse, jsonText } from '../response.ts';
import type { Route } from '../route.ts';

/** Lists the orders that a transaction has traded: each once, in the order of its trades; none when it has traded none. */
export const transactionOrders: Route = {
  method: 'GET',
  path: '/api/v1/transactions/:hash/orders',
  async handle({ book, param }) {
    const orders = await book.orders.rendered.listByTransaction(param('hash'));
    return jsonText(200, `[${orders.map((order) => order.json).join(',')}]`);
  },
};

/** What an account's trades have brought beyond what its orders asked for, in wei (decision 4.2). */
export const totalSurplus: Route = {
  method: 'GET',
  path: '/api/v1/users/:user/total_surplus',
  async handle({ book, param }) {
    return jsonResponse(200, { totalSurplus: String(await book.trades.totalSurplus(param('user'))) });
  },
};

/** How an order fares in the solvers' competition (decision 4.3). */
export const orderStatus: Route = {
  method: 'GET',
  path: '/api/v1/orders/:uid/status',
  async handle({ book, param }) {
    return jsonResponse(200, await book.orders.competitionStatus(param('uid')));
  },
};
