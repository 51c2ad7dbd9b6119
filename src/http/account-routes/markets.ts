import type { SlippageOrder } from '../../market/index.ts';
import { READ } from '../cost.ts';
import { invalidParameter, parseChainId } from '../query.ts';
import { jsonResponse } from '../response.ts';
import type { AccountRoute } from './route.ts';

/** Time for which clients may cache a tolerance, as in production. */
const CACHE_HEADERS = { 'cache-control': 'public, max-age=120' };

/** Returns the suggested slippage tolerance of a pair. */
const getSlippageTolerance: AccountRoute = {
  method: 'GET',
  path: '/:chainId/markets/:base-:quote/slippageTolerance',
  cost: { ...READ, growth: 'number of price sources' },
  async handle({ accounts, param, query }) {
    const [base, quote, ...more] = param('base-:quote').split('-');
    if (base === undefined || quote === undefined || more.length > 0) {
      throw invalidParameter('market', 'must be two addresses with a hyphen between them');
    }
    const chainId = parseChainId(param('chainId'));
    const { slippageBps } = await accounts.slippage.get(chainId, base, quote, readOrder(query));
    return jsonResponse(200, { slippageBps }, CACHE_HEADERS);
  },
};

/** Reads the order of the query. Production ignores these parameters, so malformed ones are ignored here. */
function readOrder(query: URLSearchParams): SlippageOrder {
  const kind = query.get('orderKind');
  const amount = (name: string) => {
    const text = query.get(name) ?? '';
    return /^\d{1,78}$/.test(text) ? BigInt(text) : undefined;
  };
  const [sellAmount, buyAmount] = [amount('sellAmount'), amount('buyAmount')];
  const validFor = Number(query.get('expirationTimeInSeconds') ?? Number.NaN);
  return {
    ...((kind === 'sell' || kind === 'buy') && { kind }),
    ...(sellAmount !== undefined && { sellAmount }),
    ...(buyAmount !== undefined && { buyAmount }),
    ...(Number.isFinite(validFor) && { validFor }),
  };
}

/** The routes of markets. */
export const MARKET_ROUTES: readonly AccountRoute[] = [getSlippageTolerance];
