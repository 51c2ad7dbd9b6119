import { HISTORY_FILTERS, type HistoryQuery, loadHistoryCsv } from '../../accounts/index.ts';
import type { ReadOptions } from '../../concurrency/abort.ts';
import { nextStep } from '../../concurrency/steps.ts';
import { assertKnownFilters } from '../../validation/options.ts';
import { isTypeRequested } from '../accept.ts';
import { type EstimateRows, readCost, readCount } from '../cost.ts';
import { csvResponse, isCsvRequested, VARY } from '../csv.ts';
import type { ApiResponse } from '../message.ts';
import { nextPageLink } from '../page-link.ts';
import { queryInteger, queryText } from '../query.ts';
import { jsonResponse } from '../response.ts';
import type { AccountCall, AccountRoute } from './route.ts';

const GROWTH = 'page size and number of books; rows of the account for CSV without `limit`';

/** Estimates a page; the rows of a file are unknown. */
const historyRows: EstimateRows = (query, request) => {
  const isFile = query.get('format') === 'csv' || isTypeRequested(request, 'text/csv');
  return isFile && !query.has('limit') ? undefined : readCount(query, 'limit', 1);
};

/** Lists the orders of an account in all books, newest first. */
const listOrders: AccountRoute = {
  method: 'GET',
  path: '/accounts/:account/orders',
  cost: readCost('orders', GROWTH, historyRows),
  async handle(call) {
    const { accounts, param, work } = call;
    const [account, query] = [param('account'), pageQuery(call)];
    if (!isCsvRequested(call)) {
      const { orders, next } = await accounts.history.orders(account, query, work);
      return pageResponse(call, next, (headers) => jsonResponse(200, orders, headers));
    }
    const { ORDER_CSV_HEADER: header, orderToCsv } = await loadHistoryCsv();
    if (isWhole(query)) return streamCsv('orders', header, accounts.history.allOrders(account, work), orderToCsv, work);
    const { orders, next } = await accounts.history.orders(account, query, work);
    return pageResponse(call, next, (headers) =>
      csvResponse('orders', header + orders.map(orderToCsv).join(''), headers),
    );
  },
};

/** Lists the trades of an account in all books, newest first. */
const listTrades: AccountRoute = {
  method: 'GET',
  path: '/accounts/:account/trades',
  cost: readCost('trades', GROWTH, historyRows),
  async handle(call) {
    const { accounts, param, work } = call;
    const [account, query] = [param('account'), pageQuery(call)];
    if (!isCsvRequested(call)) {
      const { trades, next } = await accounts.history.trades(account, query, work);
      return pageResponse(call, next, (headers) => jsonResponse(200, trades, headers));
    }
    const { TRADE_CSV_HEADER: header, tradeToCsv } = await loadHistoryCsv();
    if (isWhole(query)) return streamCsv('trades', header, accounts.history.allTrades(account, work), tradeToCsv, work);
    const { trades, next } = await accounts.history.trades(account, query, work);
    return pageResponse(call, next, (headers) =>
      csvResponse('trades', header + trades.map(tradeToCsv).join(''), headers),
    );
  },
};

/** The routes of the history of an account. */
export const HISTORY_ROUTES: readonly AccountRoute[] = [listOrders, listTrades];

function pageQuery({ query }: AccountCall): HistoryQuery {
  assertKnownFilters(query.keys(), [...HISTORY_FILTERS, 'format']);
  const cursor = queryText(query, 'cursor');
  const limit = queryInteger(query, 'limit');
  return { ...(cursor !== undefined && { cursor }), ...(limit !== undefined && { limit }) };
}

/** Whether the request has no page, so that a file contains everything. */
const isWhole = ({ cursor, limit }: HistoryQuery) => cursor === undefined && limit === undefined;

/** Adds the address of the next page to a response (RFC 8288). */
function pageResponse(
  { query }: AccountCall,
  next: string | undefined,
  respond: (headers: Readonly<Record<string, string>>) => ApiResponse,
): ApiResponse {
  return respond({ ...VARY, ...nextPageLink(query, next) });
}

/** Responds with all rows. The first page is read before the response begins, so that its errors have a status. */
async function streamCsv<T>(
  name: string,
  header: string,
  pages: AsyncIterable<readonly T[]>,
  toLine: (row: T) => string,
  work: ReadOptions,
): Promise<ApiResponse> {
  const iterator = pages[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* lines(): AsyncGenerator<string> {
    try {
      yield header;
      for (let page = first; page.done !== true; page = await iterator.next()) {
        yield page.value.map(toLine).join('');
        await nextStep(work);
      }
    } finally {
      await iterator.return?.();
    }
  }
  return csvResponse(name, lines(), VARY);
}
