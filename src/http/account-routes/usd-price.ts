import { AccountError } from '../../accounts/account-error.ts';
import { jsonResponse } from '../response.ts';
import { parseChainId } from './chain-id.ts';
import type { AccountRoute } from './route.ts';

/**
 * What a token is worth in US dollars (contract, "GET {bff_url}/{chain_id}/tokens/{token_address}/usdPrice"). May be kept
 * as long as it is remembered here.
 */
export const usdPrice: AccountRoute = {
  method: 'GET',
  path: '/:chainId/tokens/:token/usdPrice',
  async handle({ accounts, param }) {
    const found = await accounts.usdPrices.get(parseChainId(param('chainId')), param('token'));
    if (found === undefined) throw new AccountError(404, 'Price not found');
    const seconds = Math.floor(found.freshFor / 1000);
    const headers = seconds > 0 ? { 'cache-control': `public, max-age=${seconds}` } : {};
    return jsonResponse(200, { price: found.price }, headers);
  },
};
