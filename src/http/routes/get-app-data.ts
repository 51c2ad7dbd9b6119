import { OrderBookError } from '../../errors.ts';
import { jsonResponse } from '../response.ts';
import type { Route } from '../route.ts';

/** Returns the document behind a hash (decision 2.19). It can be cached for good: the hash is its content. */
export const getAppData: Route = {
  method: 'GET',
  path: '/api/v1/app_data/:hash',
  async handle({ book, param }) {
    const hash = param('hash');
    const fullAppData = await book.appData.get(hash);
    if (fullAppData === undefined)
      throw new OrderBookError('NotFound', 'there is no document with this hash', { hash });
    return jsonResponse(200, { fullAppData }, { 'cache-control': 'public, max-age=31536000, immutable' });
  },
};
