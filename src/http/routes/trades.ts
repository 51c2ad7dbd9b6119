import type { OrderTrade, TradeListQuery } from '../../chain/trades.ts';
import { OrderBookError } from '../../errors.ts';
import { jsonResponse } from '../response.ts';
import type { Route } from '../route.ts';

/** As many as the first version of the route answers with: it knows no pages. */
const MOST = 10_000;
const PAGE = 1000;

/** Lists the newest trades of an order or an account, all of them, up to ten thousand. The second version has pages. */
export const tradesV1: Route = {
  method: 'GET',
  path: '/api/v1/trades',
  async handle({ book, query }) {
    const filter = filterOf(query);
    const trades: OrderTrade[] = [];
    while (trades.length < MOST) {
      const page = await book.trades.list({ ...filter, offset: trades.length, limit: PAGE });
      trades.push(...page);
      if (page.length < PAGE) break;
    }
    return jsonResponse(200, trades);
  },
};

/** Lists the trades of an order or an account, newest first, a page at a time. */
export const tradesV2: Route = {
  method: 'GET',
  path: '/api/v2/trades',
  async handle({ book, query }) {
    const page = { ...numberOf(query, 'offset'), ...numberOf(query, 'limit') };
    return jsonResponse(200, await book.trades.list({ ...filterOf(query), ...page }));
  },
};

function filterOf(query: URLSearchParams): Pick<TradeListQuery, 'owner' | 'orderUid'> {
  const [owner, orderUid] = [textOf(query, 'owner'), textOf(query, 'orderUid')];
  return { ...(owner === undefined ? {} : { owner }), ...(orderUid === undefined ? {} : { orderUid }) };
}

function textOf(query: URLSearchParams, parameter: string): string | undefined {
  const [value, ...more] = query.getAll(parameter);
  if (more.length > 0) throw invalid(parameter, 'is given more than once');
  return value;
}

function numberOf<Name extends 'offset' | 'limit'>(query: URLSearchParams, name: Name): { [key in Name]?: number } {
  const text = textOf(query, name);
  if (text === undefined) return {};
  if (!/^\d{1,15}$/.test(text)) throw invalid(name, 'must be a whole number');
  return { [name]: Number(text) } as { [key in Name]?: number }; // a computed key widens to string
}

function invalid(parameter: string, reason: string): OrderBookError {
  return new OrderBookError('InvalidParameter', `${parameter}: ${reason}`, { parameter });
}
