import type { PutDocumentOptions, PutDocumentResult } from './app-data/put.ts';
import type { AuctionApi } from './auctions/auctions.ts';
import type { CompetitionStatus } from './auctions/competition-status.ts';
import type { BalanceApi } from './balances/balances.ts';
import type { ChainApi } from './chain/chain-indexing.ts';
import type { OrderTrade, TradeListQuery } from './chain/trades.ts';
import type { OrderBookEvents } from './events.ts';
import type { CancelResult, OrderCancellation, OrderCancellations } from './orders/cancel.ts';
import type { OrderCreation } from './orders/creation.ts';
import type { Limits } from './orders/limits.ts';
import type { ListQuery, OrderPage, OrderResult } from './orders/listing.ts';
import type { Order, RenderedOrder } from './orders/order-json.ts';
import type { RenderedPage, RenderedResult } from './orders/read.ts';
import type { SubmitOptions, SubmitResult } from './orders/submit.ts';
import type { Clock } from './ports/clock.ts';
import type { Address } from './protocol/hex.ts';
import type { QuoteApi } from './quotes/index.ts';
import type { Stream, StreamOptions } from './streams/broadcaster.ts';
import type { EventLog } from './streams/order-log.ts';
import type { OrderStreamEvent, OrderStreamFilter } from './streams/order-stream.ts';

/** Whether a book can serve, and what each of its parts says. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, string>>;
}

/** The verbs on orders. Rejections are returned; only failures reject. */
export interface OrderApi {
  /** Checks a signed order and stores it. */
  submit(order: OrderCreation, options?: SubmitOptions): Promise<SubmitResult>;
  /**
   * Submits many orders: each is judged by itself, those that pass are stored in one durable step. The results stand in
   * the order of the list.
   */
  submitMany(orders: readonly OrderCreation[], options?: SubmitOptions): Promise<SubmitResult[]>;
  /** Reads one order. Rejects with `InvalidParameter` when `uid` is none. */
  get(uid: string): Promise<Order | undefined>;
  /** Reads any number of orders: each once, unknown ones absent, a damaged row as an `error` element. */
  getMany(uids: readonly string[]): Promise<OrderResult[]>;
  /** Lists orders, newest first, a page at a time. Rejects with `InvalidParameter` for a bad filter. */
  list(query?: ListQuery): Promise<OrderPage>;
  /** Cancels orders by their owner's signature: all of them, or none. */
  cancel(request: OrderCancellations | OrderCancellation): Promise<CancelResult>;
  /**
   * Tells what happens to an owner's orders, or to one order, from now on or from a place in the log on. Rejects with
   * `InvalidParameter` for a bad filter. Leaving the iteration, or aborting, ends it; closing the book ends all.
   */
  stream(filter: OrderStreamFilter, options?: StreamOptions): Promise<AsyncIterable<OrderStreamEvent>>;
  /** The same reads as JSON text, as the HTTP interface sends it: nothing is parsed, nothing rendered twice. */
  readonly rendered: {
    get(uid: string): Promise<RenderedOrder | undefined>;
    getMany(uids: readonly string[]): Promise<RenderedResult[]>;
    /** All of them as one JSON array of `{"order": …}` and `{"error": …}` in UTF-8, as by_uids answers. */
    getManyBytes(uids: readonly string[]): Promise<Uint8Array>;
    list(query?: ListQuery): Promise<RenderedPage>;
    listByTransaction(hash: string): Promise<RenderedOrder[]>;
    stream(filter: OrderStreamFilter, options?: StreamOptions): Promise<Stream>;
  };
  /**
   * Lists the orders that a transaction has traded, each once, in the order of its trades. Rejects with
   * `InvalidParameter` when `hash` is none.
   */
  listByTransaction(hash: string): Promise<Order[]>;
  /**
   * Says how an order fares in the solvers' competition. Rejects with `InvalidParameter` when `uid` is none, with
   * `NotFound` when there is no such order.
   */
  competitionStatus(uid: string): Promise<CompetitionStatus>;
}

/** The verbs on trades: fills that the chain has told of, of orders that are not there too. */
export interface TradeApi {
  /** Lists trades of an order or an account, newest first. Rejects with `InvalidParameter` for a bad filter. */
  list(query: TradeListQuery): Promise<OrderTrade[]>;
  /** What an account's trades have brought beyond what its orders asked for, in wei. */
  totalSurplus(account: string): Promise<bigint>;
  /** The first block in which a token was sold or bought. Rejects with `InvalidParameter` when `token` is no address. */
  firstTradeBlock(token: string): Promise<number | undefined>;
}

/** The verbs on app-data documents. Rejections are returned; only failures reject. */
export interface AppDataApi {
  /** Stores a document under its hash, the keccak-256 of its UTF-8 bytes. Rejects with `InvalidParameter` when `hash` is none. */
  put(fullAppData: string, options?: PutDocumentOptions): Promise<PutDocumentResult>;
  /** Reads a document, exactly as it was stored. Rejects with `InvalidParameter` when `hash` is none. */
  get(hash: string): Promise<string | undefined>;
}

/** An order book of one settlement contract on one chain. */
export interface OrderBook {
  /** The chain's id (EIP-155), part of the domain that orders are signed for. */
  readonly chainId: number;
  /** The settlement contract, in lower case: the other part of that domain. */
  readonly settlementContract: Address;
  /** What this book lets in. */
  readonly limits: Limits;
  /** What is signed: submit, read, list, cancel, follow. */
  readonly orders: OrderApi;
  /** What a trade would bring, and its fee. */
  readonly quotes: QuoteApi;
  /** The documents behind the `appData` of orders. */
  readonly appData: AppDataApi;
  /** What has happened on chain, told by the follower or by the host. */
  readonly chain: ChainApi;
  /** The fills that the chain has told of. */
  readonly trades: TradeApi;
  /** What has happened to orders, to be followed from any place. */
  readonly log: EventLog;
  /** The clock that the book goes by. */
  readonly clock: Clock;
  /** What accounts hold and have allowed, by the book's chain. */
  readonly balances: BalanceApi;
  /** What solvers compete for, and how they did. */
  readonly auctions: AuctionApi;

  /** Opens the store. Every verb rejects until then. */
  start(): Promise<void>;
  /** Tells the events still untold and closes the store. A closed book can be started again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** Whether the book can serve. Never rejects. */
  ready(): Promise<Readiness>;

  /** Tells listeners of `failure` about something that no caller waits for. For mounts. */
  reportError(failure: unknown): void;

  /** Listens. A listener that throws disturbs nobody; what it threw is told as `failure`. */
  on<E extends keyof OrderBookEvents>(event: E, listener: OrderBookEvents[E]): void;
  off<E extends keyof OrderBookEvents>(event: E, listener: OrderBookEvents[E]): void;
}
