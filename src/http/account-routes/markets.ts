import type { SlippageOrder, TokenVolatility } from '../../market/index.ts';
import { formatIsoDate } from '../../records/order-json.ts';
import { invalidParameter } from '../../validation/options.ts';
import { READ } from '../cost.ts';
import { parseChainId } from '../query.ts';
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
    const [base, quote] = readPair(param('base-:quote'));
    const chainId = parseChainId(param('chainId'));
    const { slippageBps } = await accounts.slippage.get(chainId, base, quote, readOrder(query));
    return jsonResponse(200, { slippageBps }, CACHE_HEADERS);
  },
};

/** Returns the prices and the volatility of both tokens of a pair. A member is null if its volatility is unknown. */
const getVolatilityDetails: AccountRoute = {
  method: 'GET',
  path: '/:chainId/markets/:base-:quote/volatilityDetails',
  cost: { ...READ, growth: 'number of price sources' },
  async handle({ accounts, param }) {
    const [base, quote] = readPair(param('base-:quote'));
    const chainId = parseChainId(param('chainId'));
    const [baseToken, quoteToken] = await Promise.all(
      [base, quote].map(async (token) => toDetails(await accounts.slippage.volatility(chainId, token))),
    );
    return jsonResponse(200, { baseToken, quoteToken }, CACHE_HEADERS);
  },
};

function toDetails(details: TokenVolatility | undefined) {
  if (details === undefined) return null;
  const { token: tokenAddress, history, spot: usdPrice, volatility: volatilityInTokens } = details;
  const prices = history.map(({ at, price }) => ({ date: formatIsoDate(at), price }));
  return { tokenAddress, prices, usdPrice, volatilityInUsd: volatilityInTokens * usdPrice, volatilityInTokens };
}

function readPair(text: string): readonly [base: string, quote: string] {
  const [base, quote, ...more] = text.split('-');
  if (base !== undefined && quote !== undefined && more.length === 0) return [base, quote];
  throw invalidParameter('market', 'must be two addresses with a hyphen between them');
}

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

export const MARKET_ROUTES: readonly AccountRoute[] = [getSlippageTolerance, getVolatilityDetails];
