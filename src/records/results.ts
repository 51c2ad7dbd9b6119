import type { TokenInfo } from '../ports/chain-client.ts';
import type { ProtocolFee, TradeCursor } from '../ports/chain-store.ts';
import type { OrderCursor } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { RenderedOrder, UnreadableOrder } from './order-json.ts';
import type { Order, OrderStatus } from './wire-order.ts';

/** One result of reading many orders. */
export type OrderResult =
  | { readonly order: Order; readonly error?: undefined }
  | { readonly order?: undefined; readonly error: UnreadableOrder };

/** A page of orders. */
export interface OrderPage {
  readonly orders: Order[];
  /** The `cursor` of the next page; absent on the last page. */
  readonly next?: string;
}

/** Formats a cursor from the last order of a page: creation date in milliseconds, then UID. It is opaque to clients. */
export function formatCursor({ creationDate, uid }: OrderCursor): string {
  return `${creationDate}-${uid}`;
}

/** A page of a listing. */
export interface RenderedPage {
  readonly orders: readonly RenderedOrder[];
  /** The position where the next page begins; absent on the last page. */
  readonly next?: OrderCursor;
}

/** The filters of a listing, combined by "and". Default: all orders. */
export interface ListQuery {
  readonly owner?: string;
  readonly sellToken?: string;
  readonly buyToken?: string;
  readonly status?: OrderStatus;
  /** Start of the page: `next` of the previous page. */
  readonly cursor?: string;
  /** Number of orders to skip. Default: 0. Slow for large values; paging by `cursor` is fast at any depth. */
  readonly offset?: number;
  /** Page size, 1 to 1000. Default: 10. */
  readonly limit?: number;
}

/** A fill of an order. Amounts are decimal strings of atoms. */
export interface OrderTrade {
  readonly blockNumber: number;
  readonly logIndex: number;
  readonly orderUid: Hex;
  readonly buyAmount: string;
  /** The amount taken from the owner, including the signed fee. */
  readonly sellAmount: string;
  readonly sellAmountBeforeFees: string;
  readonly owner: Address;
  readonly buyToken: Address;
  readonly sellToken: Address;
  readonly txHash: Hex;
  readonly executedProtocolFees: readonly ProtocolFee[];
}

/** The trades to list: of an order or of an account. Exactly one of both is required. */
export interface TradeListQuery {
  /** The owner of the orders, or the account that placed them on chain. */
  readonly owner?: string;
  readonly orderUid?: string;
  /** Start of the page: `next` of the previous page. */
  readonly cursor?: string;
  /** Number of trades to skip. Default: 0. Slow for large values; paging by `cursor` is fast at any depth. */
  readonly offset?: number;
  /** 1 to 1000. Default: 10. */
  readonly limit?: number;
}

/** A page of trades. */
export interface TradePage {
  readonly trades: OrderTrade[];
  /** The `cursor` of the next page; absent on the last page. */
  readonly next?: string;
}

/** A trade with the time of its block. */
export interface TimedTrade {
  readonly trade: OrderTrade;
  /** Seconds since 1970; null if the node has not reported it. */
  readonly timestamp: number | null;
}

/** The trades of an account or an order from a position on. Exactly one of both is required. */
export interface TradeHistoryQuery {
  /** The owner of the orders, or the account that placed them on chain. */
  readonly owner?: string;
  readonly orderUid?: string;
  /** Only trades before this position of the chain. Default: from the newest trade on. */
  readonly after?: TradeCursor;
  /** Maximum number of trades. Default: all. */
  readonly limit?: number;
}

/** An account's balance of a token. */
export interface TokenBalance {
  /** Atoms, as decimal text. */
  readonly balance: string;
  /** Allowance of the vault relayer in atoms, as decimal text. */
  readonly allowance: string;
  readonly token: { readonly address: Address } & TokenInfo;
}

/** Options of a balance call. */
export interface BalanceCallOptions {
  /** Aborts the call when the result is no longer needed. The call rejects with its reason. */
  readonly signal?: AbortSignal;
}
