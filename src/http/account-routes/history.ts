import { HISTORY_FILTERS, type HistoryQuery, loadHistoryCsv } from '../../accounts/index.ts';
import { assertKnownFilters } from '../../validation/options.ts';
import { isTypeRequested } from '../accept.ts';
import { type EstimateRows, readCost, readCount } from '../cost.ts';
import { type CsvFormat, isCsvRequested, streamCsv, VARY } from '../csv.ts';
import { divide, renderList } from '../json-array.ts';
import { type ApiResponse, jsonText } from '../message.ts';
import { nextPageLink } from '../page-link.ts';
import { queryInteger, queryText } from '../query.ts';
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
    const csv = isCsvRequested(call) ? (await loadHistoryCsv()).ORDER_CSV : undefined;
    if (csv && isWhole(query)) return streamCsv('orders', csv, accounts.history.allOrders(account, work), work);
    const { orders, next } = await accounts.history.orders(account, query, work);
    return pageResponse(call, 'orders', orders, next, csv);
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
    const csv = isCsvRequested(call) ? (await loadHistoryCsv()).TRADE_CSV : undefined;
    if (csv && isWhole(query)) return streamCsv('trades', csv, accounts.history.allTrades(account, work), work);
    const { trades, next } = await accounts.history.trades(account, query, work);
    return pageResponse(call, 'trades', trades, next, csv);
  },
};

export const HISTORY_ROUTES: readonly AccountRoute[] = [listOrders, listTrades];

function pageQuery({ query }: AccountCall): HistoryQuery {
  assertKnownFilters(query.keys(), [...HISTORY_FILTERS, 'format']);
  const cursor = queryText(query, 'cursor');
  const limit = queryInteger(query, 'limit');
  return { ...(cursor !== undefined && { cursor }), ...(limit !== undefined && { limit }) };
}

/** Whether the request has no page, so that a file contains everything. */
const isWhole = ({ cursor, limit }: HistoryQuery) => cursor === undefined && limit === undefined;

/** Creates the response of a page, with the address of the next one (RFC 8288). @param csv - Absent: JSON. */
async function pageResponse<T>(
  { query, work }: AccountCall,
  name: string,
  rows: readonly T[],
  next: string | undefined,
  csv: CsvFormat<T> | undefined,
): Promise<ApiResponse> {
  const headers = { ...VARY, ...nextPageLink(query, next) };
  if (csv === undefined) return jsonText(200, await renderList(rows, undefined, work), headers);
  return streamCsv(name, csv, divide(rows, work), work, headers);
}
