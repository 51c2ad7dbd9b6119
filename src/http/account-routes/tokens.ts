import { AccountError } from '../../accounts/account-error.ts';
import { READ } from '../cost.ts';
import { parseChainId } from '../query.ts';
import { jsonResponse } from '../response.ts';
import type { AccountRoute } from './route.ts';

/** Returns the price of a token in US dollars. Cacheable as long as the price is cached here. */
const getUsdPrice: AccountRoute = {
  method: 'GET',
  path: '/:chainId/tokens/:token/usdPrice',
  cost: { ...READ, growth: 'number of price sources' },
  async handle({ accounts, param }) {
    const result = await accounts.usdPrices.get(parseChainId(param('chainId')), param('token'));
    if (result === undefined) throw new AccountError(404, 'Price not found');
    const seconds = Math.floor(result.freshFor / 1000);
    const headers = seconds > 0 ? { 'cache-control': `public, max-age=${seconds}` } : {};
    return jsonResponse(200, { price: result.price }, headers);
  },
};

/** The routes of tokens. */
export const TOKEN_ROUTES: readonly AccountRoute[] = [getUsdPrice];
