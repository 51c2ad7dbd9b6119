import { AccountError } from '../../account-tools/account-error.ts';
import { countRows } from '../../concurrency/abort.ts';
import { parseTokenAddresses } from '../../market/index.ts';
import { NATIVE_MARKER } from '../../protocol/chains.ts';
import { fewRows, READ, readCost } from '../cost.ts';
import { parseChain, parseChainId } from '../query.ts';
import { jsonResponse } from '../response.ts';
import { BODY_LIMIT } from '../route.ts';
import type { AccountRoute } from './route.ts';

/**
 * Returns the price of a token in US dollars. Cacheable as long as the price is cached here. As in production,
 * the chain can have a name, and `-` stands for native currency.
 */
const getUsdPrice: AccountRoute = {
  method: 'GET',
  path: '/:chainId/tokens/:token/usdPrice',
  cost: { ...READ, growth: 'number of price sources' },
  async handle({ accounts, param }) {
    const [chainId, token] = [parseChain(param('chainId')), param('token')];
    const result =
      chainId === undefined ? undefined : await accounts.usdPrices.get(chainId, token === '-' ? NATIVE_MARKER : token);
    if (result === undefined) throw new AccountError(404, 'Price not found');
    const seconds = Math.floor(result.freshFor / 1000);
    const headers = seconds > 0 ? { 'cache-control': `public, max-age=${seconds}` } : {};
    return jsonResponse(200, { price: result.price }, headers);
  },
};

/** Metadata of a token does not change, except for upgraded contracts. */
const DETAILS_HEADERS = { 'cache-control': 'public, max-age=3600' };

/** Tokens that one token of the rate limit pays for. */
const TOKENS_PER_TOKEN = 10;

const getDetails: AccountRoute = {
  method: 'GET',
  path: '/:chainId/tokens/:token/details',
  cost: READ,
  async handle({ accounts, param }) {
    const details = await accounts.tokens.get(parseChainId(param('chainId')), param('token'));
    if (details === undefined) throw new AccountError(404, 'Token not found');
    return jsonResponse(200, details, DETAILS_HEADERS);
  },
};

const getManyDetails: AccountRoute = {
  method: 'POST',
  path: '/:chainId/tokens/details',
  cost: readCost('tokens', 'number of tokens, at most 100, in one call of the node', fewRows, TOKENS_PER_TOKEN),
  bodyLimit: BODY_LIMIT,
  async handle({ accounts, param, body, work }) {
    const tokens = parseTokenAddresses(body);
    countRows(work, tokens.length);
    const details = await accounts.tokens.getMany(parseChainId(param('chainId')), tokens);
    if (details.length === 0) throw new AccountError(404, 'No tokens found');
    return jsonResponse(200, details);
  },
};

const getTopHolders: AccountRoute = {
  method: 'GET',
  path: '/:chainId/tokens/:token/topHolders',
  cost: { ...READ, growth: 'number of sources of holders' },
  async handle({ accounts, param }) {
    const holders = await accounts.tokens.topHolders(parseChainId(param('chainId')), param('token'));
    if (holders === undefined || holders.length === 0) throw new AccountError(404, 'Token holders not found');
    return jsonResponse(200, holders, { 'cache-control': 'public, max-age=120' });
  },
};

export const TOKEN_DETAIL_ROUTES: readonly AccountRoute[] = [getUsdPrice, getDetails, getManyDetails, getTopHolders];
