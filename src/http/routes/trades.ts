import type { OrderTrade, TradeListQuery } from '../../chain/trades.ts';
import { queryInteger, queryText } from '../query.ts';
import { jsonResponse } from '../response.ts';
import type { Route } from '../route.ts';

/** Maximum number of trades in a response of version 1, which has no pages. */
const MAX_TRADES = 10_000;
const PAGE_SIZE = 1000;

/** Lists the newest trades of an order or an account, up to 10,000, without pages. */
const listTradesV1: Route = {
  method: 'GET',
  path: '/api/v1/trades',
  async handle({ book, query }) {
    const filter = tradeFilter(query);
    const trades: OrderTrade[] = [];
    while (trades.length < MAX_TRADES) {
      const page = await book.trades.list({ ...filter, offset: trades.length, limit: PAGE_SIZE });
      trades.push(...page);
      if (page.length < PAGE_SIZE) break;
    }
    return jsonResponse(200, trades);
  },
};

/** Lists a page of the trades of an order or an account, newest first. */
const listTradesV2: Route = {
  method: 'GET',
  path: '/api/v2/trades',
  async handle({ book, query }) {
    const offset = queryInteger(query, 'offset');
    const limit = queryInteger(query, 'limit');
    const page = { ...(offset !== undefined && { offset }), ...(limit !== undefined && { limit }) };
    return jsonResponse(200, await book.trades.list({ ...tradeFilter(query), ...page }));
  },
};

/** Returns the total surplus of an account's trades, in wei. */
const getTotalSurplus: Route = {
  method: 'GET',
  path: '/api/v1/users/:user/total_surplus',
  async handle({ book, param }) {
    return jsonResponse(200, { totalSurplus: String(await book.trades.totalSurplus(param('user'))) });
  },
};

/** The routes of trades. */
export const TRADE_ROUTES: readonly Route[] = [listTradesV1, listTradesV2, getTotalSurplus];

function tradeFilter(query: URLSearchParams): Pick<TradeListQuery, 'owner' | 'orderUid'> {
  const owner = queryText(query, 'owner');
  const orderUid = queryText(query, 'orderUid');
  return { ...(owner !== undefined && { owner }), ...(orderUid !== undefined && { orderUid }) };
}
