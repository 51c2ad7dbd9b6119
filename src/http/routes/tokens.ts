import { parseDecimal, priceOfEther } from '../../protocol/decimal.ts';
import { jsonResponse, rejectionResponse } from '../response.ts';
import type { Route } from '../route.ts';

/** What a token is worth: native atoms for one of its atoms, as a JSON number. */
export const nativePrice: Route = {
  method: 'GET',
  path: '/api/v1/token/:token/native_price',
  async handle({ book, param, request: { signal } }) {
    const result = await book.quotes.nativePrice(param('token'), signal === undefined ? {} : { signal });
    return result.status === 'priced'
      ? jsonResponse(200, { price: Number(result.price) })
      : rejectionResponse(result.error);
  },
};

/**
 * What is known of a token: the block it was first traded in, and its price scaled to 10^18 atoms. A token that nothing is known of has both null.
 */
export const tokenMetadata: Route = {
  method: 'GET',
  path: '/api/v1/token/:token/metadata',
  async handle({ book, param, request: { signal } }) {
    const result = await book.quotes.nativePrice(param('token'), signal === undefined ? {} : { signal });
    if (result.status === 'rejected' && result.error.code === 'InvalidParameter')
      return rejectionResponse(result.error);
    const price = result.status === 'priced' ? parseDecimal(result.price) : undefined;
    const firstTradeBlock = (await book.trades.firstTradeBlock(param('token'))) ?? null;
    return jsonResponse(200, { firstTradeBlock, nativePrice: price === undefined ? null : priceOfEther(price) });
  },
};
