/// <reference lib="esnext.disposable" preserve="true" />
// Declarations keep this line, for hosts without the types of Node.js, such as applications in browsers.
import type { PutDocumentOptions, PutDocumentResult } from './app-data/put.ts';
import type { AuctionApi } from './auctions/auction-api.ts';
import type { CompetitionStatus } from './auctions/competition-status.ts';
import type { BalanceApi } from './balances/balance-api.ts';
import type { ChainApi } from './chain/chain-api.ts';
import type { OrderTrade, TimedTrade, TradeHistoryQuery, TradeListQuery, TradePage } from './chain/trades.ts';
import type { ReadOptions } from './concurrency/abort.ts';
import type { OrderBookEvents } from './events.ts';
import type { CancelResult, OrderCancellation, OrderCancellations } from './orders/cancel.ts';
import type { OrderCreation } from './orders/creation.ts';
import type { Limits } from './orders/limits.ts';
import type { EncodedPage, EncodedReadOptions, RenderedPage } from './orders/list-orders.ts';
import type { ListQuery } from './orders/list-query.ts';
import type { Order, RenderedOrder } from './orders/order-json.ts';
import type { OrderPage, OrderResult } from './orders/order-page.ts';
import type { RenderedResult } from './orders/read.ts';
import type { SimulateOptions, SimulateResult } from './orders/simulation.ts';
import type { SubmitOptions, SubmitResult } from './orders/submit.ts';
import type { Clock } from './ports/clock.ts';
import type { Address } from './protocol/hex.ts';
import type { Rules } from './protocol/profile.ts';
import type { QuoteApi } from './quotes/quote-api.ts';
import type { EventLog } from './streams/event-log.ts';
import type { OrderStreamEvent, OrderStreamFilter } from './streams/order-stream-event.ts';
import type { Stream, StreamOptions } from './streams/stream.ts';

/** Whether a book can serve, and the state of each of its parts. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, string>>;
}

/** Order methods. Rejections are returned; failures are thrown. */
export interface OrderApi {
  /** Validates and stores a signed order. */
  submit(order: OrderCreation, options?: SubmitOptions): Promise<SubmitResult>;
  /**
   * Submits many orders. Each is validated independently; accepted orders are stored in one durable step.
   *
   * @returns one result per order, in input order.
   */
  submitMany(orders: readonly OrderCreation[], options?: SubmitOptions): Promise<SubmitResult[]>;
  /**
   * Returns an order. `undefined` if it does not exist.
   *
   * @throws OrderBookError `InvalidParameter` if `uid` is not 0x and 112 hex digits.
   */
  get(uid: string): Promise<Order | undefined>;
  /** Returns any number of orders, each once. Unknown UIDs are left out; an unreadable row is an `error` element. */
  getMany(uids: readonly string[]): Promise<OrderResult[]>;
  /**
   * Lists orders by page, newest first.
   *
   * @throws OrderBookError `InvalidParameter` for an invalid filter.
   */
  list(query?: ListQuery): Promise<OrderPage>;
  /**
   * Simulates the settlement of a stored order, by its UID, or of an order that is not stored. `undefined` if the order
   * does not exist. Nothing is stored or sent.
   */
  simulate(target: string | OrderCreation, options?: SimulateOptions): Promise<SimulateResult | undefined>;
  /** Cancels orders by their owner's signature: all or none. */
  cancel(request: OrderCancellations | OrderCancellation): Promise<CancelResult>;
  /**
   * Streams the changes of an owner's orders, of one order, or of all orders. Ending the iteration, aborting the signal
   * or closing the book ends the stream.
   *
   * @throws OrderBookError `InvalidParameter` for an invalid filter.
   */
  stream(filter: OrderStreamFilter, options?: StreamOptions): Promise<AsyncIterable<OrderStreamEvent>>;
  /** The same reads as JSON text, as the HTTP interface sends them. Nothing is parsed. */
  readonly rendered: {
    get(uid: string, options?: ReadOptions): Promise<RenderedOrder | undefined>;
    getMany(uids: readonly string[]): Promise<RenderedResult[]>;
    /**
     * Returns a JSON array of `{"order": …}` and `{"error": …}` in UTF-8, as by_uids responds. `allocate` may provide
     * its memory: it returns a `Uint8Array` of a size in bytes.
     */
    getManyBytes(uids: readonly string[], options?: EncodedReadOptions): Promise<Uint8Array>;
    list(query?: ListQuery, options?: ReadOptions): Promise<RenderedPage>;
    /** Returns a page as a JSON array in UTF-8. `allocate` may provide its memory, as for `getManyBytes`. */
    listBytes(query?: ListQuery, options?: EncodedReadOptions): Promise<EncodedPage>;
    listByTransaction(hash: string, options?: ReadOptions): Promise<RenderedOrder[]>;
    stream(filter: OrderStreamFilter, options?: StreamOptions): Promise<Stream>;
  };
  /**
   * Lists the orders that a transaction traded: each once, in the order of its trades.
   *
   * @throws OrderBookError `InvalidParameter` if `hash` is not 0x and 64 hex digits.
   */
  listByTransaction(hash: string): Promise<Order[]>;
  /**
   * Returns the status of an order in the solver competition.
   *
   * @throws OrderBookError `InvalidParameter` for a malformed UID, `NotFound` for an unknown one.
   */
  competitionStatus(uid: string): Promise<CompetitionStatus>;
}

/** Trade methods. Trades are fills on chain, also of orders that this book does not have. */
export interface TradeApi {
  /**
   * Lists the trades of an order or an account, newest first.
   *
   * @throws OrderBookError `InvalidTradeFilter` unless exactly one of `owner` and `orderUid` is given, `InvalidLimit`
   * for an invalid limit, `InvalidParameter` for another malformed member.
   */
  list(query: TradeListQuery, options?: ReadOptions): Promise<OrderTrade[]>;
  /**
   * Lists trades like `list`, with the `cursor` of the next page. The duration of a page by cursor does not depend on
   * its depth.
   */
  page(query: TradeListQuery, options?: ReadOptions): Promise<TradePage>;
  /**
   * Iterates over the trades of an order or an account in pages of at most 100, newest first, up to `limit` trades in
   * total. Default: all. Throws like `list`.
   */
  pages(query: Omit<TradeListQuery, 'offset' | 'cursor'>, options?: ReadOptions): AsyncIterable<readonly OrderTrade[]>;
  /**
   * Iterates over the trades of an account with their times, newest first, in pages of at most 100 from a position on.
   * Throws `InvalidLimit` for an invalid limit, `InvalidParameter` for another malformed member.
   */
  history(query: TradeHistoryQuery, options?: ReadOptions): AsyncIterable<readonly TimedTrade[]>;
  /**
   * Returns the total surplus of an account's trades, in wei. The sum is cached until the account's trades change.
   * Throws `InvalidParameter` if `account` is not an address.
   */
  totalSurplus(account: string, options?: ReadOptions): Promise<bigint>;
  /**
   * Returns the block of a token's first trade; `undefined` if there is none. Throws `InvalidParameter` for a bad
   * address.
   */
  firstTradeBlock(token: string): Promise<number | undefined>;
}

/** App-data methods. Rejections are returned; failures are thrown. */
export interface AppDataApi {
  /** Stores a document under the keccak-256 of its UTF-8 bytes. Throws `InvalidParameter` for a malformed `hash`. */
  put(fullAppData: string, options?: PutDocumentOptions): Promise<PutDocumentResult>;
  /** Returns a document byte for byte as it was stored. Throws `InvalidParameter` for a malformed `hash`. */
  get(hash: string): Promise<string | undefined>;
}

/** An order book of one settlement contract on one chain. */
export interface OrderBook {
  /** The chain id (EIP-155), a part of the signing domain. */
  readonly chainId: number;
  /** The settlement contract in lower case, the other part of the signing domain. */
  readonly settlementContract: Address;
  /** The limits in force. */
  readonly limits: Limits;
  /** The rules in force: those of the profile, or of the options. */
  readonly rules: Rules;
  /** Submits, reads, lists, cancels and streams orders. */
  readonly orders: OrderApi;
  /** Quotes trades and prices tokens. */
  readonly quotes: QuoteApi;
  /** Stores and returns app-data documents. */
  readonly appData: AppDataApi;
  /** Applies and rolls back chain events. The indexer calls it, or the host. */
  readonly chain: ChainApi;
  /** Returns trades and surplus. */
  readonly trades: TradeApi;
  /** The event log: every change of an order, numbered. */
  readonly log: EventLog;
  /** The clock of the book. */
  readonly clock: Clock;
  /** Reads balances and allowances through the chain client. */
  readonly balances: BalanceApi;
  /** Returns auctions and records competitions. */
  readonly auctions: AuctionApi;

  /** Opens the store and starts background work. Other methods throw a `StoreError` `Closed` before. */
  start(): Promise<void>;
  /**
   * Waits for submissions that have begun, at most the sum of three times `checkTimeout`, once `orderTimeout` and one
   * second. Then emits the remaining events, stops background work and closes the store. A closed book can be started
   * again.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** Returns whether the book can serve. Never rejects. */
  ready(): Promise<Readiness>;

  /** Emits `failure`, for mounts. */
  reportError(failure: unknown): void;

  /**
   * Adds a listener. An error of a listener is emitted as `failure`; other listeners are not affected. With several
   * processes on one store, the first listener of events about orders may receive those of the last seconds.
   */
  on<E extends keyof OrderBookEvents>(event: E, listener: OrderBookEvents[E]): void;
  /** Removes a listener. */
  off<E extends keyof OrderBookEvents>(event: E, listener: OrderBookEvents[E]): void;
}
