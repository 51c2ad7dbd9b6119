import type { ReadOptions } from '../../concurrency/abort.ts';
import type { OrderTrade } from '../../records/results.ts';
import type { Order } from '../../records/wire-order.ts';

/** A page of a history. */
export interface HistoryQuery {
  /** Start of the page: `next` of the previous page. */
  readonly cursor?: string;
  /** Page size, 1 to 1000. Default: 100. */
  readonly limit?: number;
}

/** The names of the members of a query. Others are rejected. */
export const HISTORY_FILTERS = ['cursor', 'limit'] as const satisfies readonly (keyof HistoryQuery)[];

/** An order of an account, with its book. */
export interface AccountOrder {
  readonly chainId: number;
  /** The environment of the book, as in `metadata.env` of notifications. */
  readonly env: string;
  readonly order: Order;
}

/** A trade of an account, with its book. */
export interface AccountTrade {
  readonly chainId: number;
  /** The environment of the book, as in `metadata.env` of notifications. */
  readonly env: string;
  /** Time of the block, ISO 8601 in UTC; null if the node has not reported it. */
  readonly timestamp: string | null;
  readonly trade: OrderTrade;
}

/** A page of orders. */
export interface AccountOrderPage {
  readonly orders: readonly AccountOrder[];
  /** The `cursor` of the next page; absent on the last page. */
  readonly next?: string;
}

/** A page of trades. */
export interface AccountTradePage {
  readonly trades: readonly AccountTrade[];
  /** The `cursor` of the next page; absent on the last page. */
  readonly next?: string;
}

/**
 * History of an account in all books, newest first. Orders are sorted by creation date, trades by the time of their
 * block. A row that appears after the first page was read is not listed on later pages. Each method rejects with
 * `InvalidParameter` for an invalid address, cursor or limit.
 */
export interface HistoryApi {
  /** Lists the orders that an account owns or has placed on chain. */
  orders(account: string, query?: HistoryQuery, work?: ReadOptions): Promise<AccountOrderPage>;
  /** Lists the trades of these orders. */
  trades(account: string, query?: HistoryQuery, work?: ReadOptions): Promise<AccountTradePage>;
  /** Iterates over all orders in pages of at most 100. */
  allOrders(account: string, work?: ReadOptions): AsyncIterable<readonly AccountOrder[]>;
  /** Iterates over all trades in pages of at most 100. */
  allTrades(account: string, work?: ReadOptions): AsyncIterable<readonly AccountTrade[]>;
}
