import type { TradeListQuery } from '../../records/results.ts';
import { readCost, readCount, unknownRows } from '../cost.ts';
import { jsonResponse, jsonText } from '../message.ts';
import { nextPageLink } from '../page-link.ts';
import { queryText } from '../query.ts';
import type { Route } from '../route.ts';
import { jsonArray, listingQuery } from './orders.ts';

/** Maximum number of trades in a response of version 1, which has no pages. */
const MAX_TRADES = 10_000;

/** Skipped trades that cost as much as one that is read. */
const SKIPPED_PER_ROW = 2;

/** Lists the newest trades of an order or an account, up to 10,000, without pages. */
const listTradesV1: Route = {
  method: 'GET',
  path: '/api/v1/trades',
  cost: readCost('trades', 'trades of the order or account, at most 10000', unknownRows),
  async handle({ book, query, work }) {
    const pages = book.trades.pages({ ...tradeFilter(query), limit: MAX_TRADES }, work);
    return jsonText(200, await jsonArray.use(({ renderPages }) => renderPages(pages)));
  },
};

/** Lists a page of the trades of an order or an account, newest first, by offset or by cursor. */
const listTradesV2: Route = {
  method: 'GET',
  path: '/api/v2/trades',
  cost: readCost(
    'trades',
    'page size; trades that `offset` skips',
    (query) => readCount(query, 'limit', 1) + readCount(query, 'offset', 0) / SKIPPED_PER_ROW,
  ),
  async handle({ book, query, work }) {
    const paging = { ...listingQuery(query, ['cursor', 'offset']), ...readLimit(query) };
    const { trades, next } = await book.trades.page({ ...tradeFilter(query), ...paging }, work);
    return jsonText(
      200,
      await jsonArray.use(({ renderList }) => renderList(trades, undefined, work)),
      nextPageLink(query, next),
    );
  },
};

/** Returns the total surplus of an account's trades, in wei. */
const getTotalSurplus: Route = {
  method: 'GET',
  path: '/api/v1/users/:user/total_surplus',
  cost: readCost('trades', 'new trades of the account since the last request', unknownRows),
  async handle({ book, param, work }) {
    return jsonResponse(200, { totalSurplus: String(await book.trades.totalSurplus(param('user'), work)) });
  },
};

export const TRADE_ROUTES: readonly Route[] = [listTradesV1, listTradesV2, getTotalSurplus];

function tradeFilter(query: URLSearchParams): Pick<TradeListQuery, 'owner' | 'orderUid'> {
  const owner = queryText(query, 'owner');
  const orderUid = queryText(query, 'orderUid');
  return { ...(owner !== undefined && { owner }), ...(orderUid !== undefined && { orderUid }) };
}

/** Reads the page size. A malformed one becomes `NaN`, which is rejected with `InvalidLimit`. */
function readLimit(query: URLSearchParams): Pick<TradeListQuery, 'limit'> {
  if (!query.has('limit')) return {};
  const text = query.getAll('limit').join(); // a repeated parameter has a comma
  return { limit: /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN };
}
