import { jsonResponse } from '../response.ts';
import type { Route } from '../route.ts';

/** What solvers compete for: the open orders that can be paid for, and what their tokens are worth (decision 4.3). */
export const auction: Route = {
  method: 'GET',
  path: '/api/v1/auction',
  async handle({ book }) {
    return jsonResponse(200, await book.auctions.current());
  },
};
