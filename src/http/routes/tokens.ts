import { parseDecimal, toPricePerEther } from '../../protocol/decimal.ts';
import { ESTIMATE } from '../cost.ts';
import { jsonResponse, rejectionResponse } from '../message.ts';
import { cancellable, type Route } from '../route.ts';

/** Returns the native price of a token: wei per atom of the token, as a JSON number. Estimators are queried. */
const getNativePrice: Route = {
  method: 'GET',
  path: '/api/v1/token/:token/native_price',
  cost: ESTIMATE,
  async handle({ book, param, request }) {
    const result = await book.quotes.nativePrice(param('token'), cancellable(request));
    if (result.status !== 'priced') return rejectionResponse(result.error);
    return jsonResponse(200, { price: Number(result.price) });
  },
};

/**
 * Returns the block of a token's first trade and its native price for 10^18 atoms. Both are null for an unknown token.
 */
const getTokenMetadata: Route = {
  method: 'GET',
  path: '/api/v1/token/:token/metadata',
  cost: ESTIMATE,
  async handle({ book, param, request }) {
    const result = await book.quotes.nativePrice(param('token'), cancellable(request));
    if (result.status === 'rejected' && result.error.code === 'InvalidParameter') {
      return rejectionResponse(result.error);
    }
    const price = result.status === 'priced' ? parseDecimal(result.price) : undefined;
    const firstTradeBlock = (await book.trades.firstTradeBlock(param('token'))) ?? null;
    return jsonResponse(200, { firstTradeBlock, nativePrice: price === undefined ? null : toPricePerEther(price) });
  },
};

export const TOKEN_ROUTES: readonly Route[] = [getNativePrice, getTokenMetadata];
