import { AccountError } from '../../account-tools/account-error.ts';
import { countRows } from '../../concurrency/abort.ts';
import { OrderBookError } from '../../errors.ts';
import type { SlippageOrder, TokenVolatility } from '../../market/index.ts';
import { MAX_CALLS, parsePoolAddresses, parseTokenAddresses } from '../../market/index.ts';
import { NATIVE_MARKER } from '../../protocol/chains.ts';
import { formatIsoDate } from '../../records/order-json.ts';
import { invalidParameter } from '../../validation/options.ts';
import type { RouteCost } from '../cost.ts';
import { fewRows, READ, readCost } from '../cost.ts';
import { type BodySize, jsonResponse } from '../message.ts';
import { parseChain, parseChainId } from '../query.ts';
import { BODY_LIMIT } from '../route.ts';
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

const listPools: AccountRoute = {
  method: 'POST',
  path: '/:chainId/yield/pools',
  cost: readCost('pools', 'number of pools, at most 500; number of sources', fewRows),
  bodyLimit: BODY_LIMIT,
  async handle({ accounts, param, body, work }) {
    const chainId = parseChainId(param('chainId'));
    const pools = await accounts.pools.list(chainId, parsePoolAddresses(body));
    countRows(work, pools.length);
    return jsonResponse(
      200,
      pools.map(({ address, project, apr, fee, tvl, volume }) => {
        return { contract_address: address, chain_id: chainId, project, apr, fee, tvl, volume };
      }),
    );
  },
};

/** Returns the mean yield of each project. Cacheable as in production. */
const getAverageApr: AccountRoute = {
  method: 'GET',
  path: '/:chainId/yield/pools-average-apr',
  cost: { ...READ, growth: 'number of sources' },
  async handle({ accounts, param }) {
    const averages = await accounts.pools.averageApr(parseChainId(param('chainId')));
    return jsonResponse(200, averages, { 'cache-control': 'public, max-age=21600' });
  },
};

/** Maximum size of a bundle, in bytes. */
const BUNDLE_LIMIT = 256 * 1024;

/** Commas of a bundle that is parsed. A transaction has six members. */
const MAX_COMMAS = 1_000;

function checkBundle({ commas }: BodySize): void {
  if (commas > MAX_COMMAS) throw new OrderBookError('InvalidParameter', `must have 1 to ${MAX_CALLS} transactions`);
}

/** Each transaction is executed by a node, which is charged as a write. */
const SIMULATION_COST: RouteCost = {
  kind: 'write',
  rowsPerToken: 1,
  tokens: '1 per transaction',
  growth: 'number of transactions, at most 20, and their gas',
};

const simulateBundle: AccountRoute = {
  method: 'POST',
  path: '/:chainId/simulation/simulateBundle',
  cost: SIMULATION_COST,
  bodyLimit: BUNDLE_LIMIT,
  checkBody: checkBundle,
  async handle({ accounts, param, body, work }) {
    const results = await accounts.simulation.simulate(parseChainId(param('chainId')), body);
    countRows(work, results.length);
    return jsonResponse(200, results);
  },
};

export const MARKET_ROUTES: readonly AccountRoute[] = [
  getUsdPrice,
  getDetails,
  getManyDetails,
  getTopHolders,
  getSlippageTolerance,
  getVolatilityDetails,
  simulateBundle,
  listPools,
  getAverageApr,
];
