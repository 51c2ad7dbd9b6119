import type { Readiness } from '../concurrency/lifecycle.ts';
import type { OrderBook } from '../order-book.ts';
import type { Clock } from '../ports/clock.ts';
import type { Delivery, DeliveryCounts, DeliveryState } from '../ports/delivery-store.ts';
import type { Stream, StreamOptions } from '../streams/index.ts';
import type { AccountBalances } from './account-balances.ts';
import type { AffiliateApi } from './affiliates.ts';
import type { HistoryApi } from './history/history-api.ts';
import type { NotificationPage, NotificationQuery, RenderedNotifications } from './notification-list.ts';
import type { NotificationStreamEvent } from './notification-stream.ts';
import type { SourceListener } from './observations.ts';
import type { PoolApi } from './pools.ts';
import type { SimulationApi } from './simulation/simulation.ts';
import type { SlippageApi } from './slippage/slippage.ts';
import type { SubscriptionApi } from './subscriptions.ts';
import type { TokenApi } from './token-details.ts';
import type { UsdPriceApi } from './usd-prices.ts';

/** Notification methods. Each rejects with an `AccountError` of status 503 if notifications are off. */
export interface NotificationApi {
  /** Lists the notifications of an account, newest first. Rejects with `InvalidParameter` for an invalid parameter. */
  list(account: string, query?: NotificationQuery): Promise<NotificationPage>;
  /**
   * Streams the notifications of an account, from now on or from a position in the account log. Leaving the iteration
   * or aborting ends the stream; `close` ends all streams.
   */
  stream(account: string, options?: StreamOptions): Promise<AsyncIterable<NotificationStreamEvent>>;
  /** The same reads as JSON text, for the HTTP interface. */
  readonly rendered: {
    list(account: string, query?: NotificationQuery): Promise<RenderedNotifications>;
    stream(account: string, options?: StreamOptions): Promise<Stream>;
  };
}

/** Delivery methods for operators. */
export interface DeliveryApi {
  /** Lists deliveries in a state, oldest first, only those above `after`. Default of `limit`: 100. */
  list(query: { readonly state: DeliveryState; readonly after?: number; readonly limit?: number }): Promise<Delivery[]>;
  /** Makes dead deliveries pending again: those with the given `seq`, or all. Returns their number. */
  replay(seqs?: readonly number[]): Promise<number>;
}

/** The backlog of notifications and deliveries, for monitoring. */
export interface AccountBacklog {
  /** Numbers of pending and dead deliveries. */
  readonly deliveries: DeliveryCounts;
  /** For each book, in order: the number of log entries that are not processed yet. */
  readonly books: readonly { readonly book: OrderBook; readonly entries: number }[];
}

/** The account interface of one or more books. See docs/internals/decisions.md#d5-9. */
export interface Accounts {
  readonly notifications: NotificationApi;
  readonly subscriptions: SubscriptionApi;
  readonly deliveries: DeliveryApi;
  readonly history: HistoryApi;
  readonly affiliates: AffiliateApi;
  readonly usdPrices: UsdPriceApi;
  readonly slippage: SlippageApi;
  readonly tokens: TokenApi;
  readonly simulation: SimulationApi;
  readonly pools: PoolApi;
  readonly balances: AccountBalances;

  /** The clock, for mounts. */
  readonly clock: Clock;

  /**
   * Opens the store and starts to process the logs of the books, which the host has started. Every method rejects
   * before.
   */
  start(): Promise<void>;
  /**
   * Stops processing and closes the store; must be called before the books are closed. Concurrent calls wait for the
   * same end. It can be started again.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** Returns whether it can serve requests. Never rejects. */
  ready(): Promise<Readiness>;
  /** Returns the backlog of notifications and deliveries. */
  backlog(): Promise<AccountBacklog>;
  /**
   * Adds a listener of the queries of sources: prices, histories, tokens, pools, simulations and statistics.
   *
   * @returns a function that removes it.
   */
  observe(listener: SourceListener): () => void;
  /** Reports a failure for which no caller waits to `onFailure`. For mounts. */
  reportError(failure: unknown): void;
}
