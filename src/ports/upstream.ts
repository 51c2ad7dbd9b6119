import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { Clock } from './clock.ts';
import type { OrderQuote } from './quote-store.ts';

/**
 * Another order book behind this one, such as the production order book of CoW Protocol: orders are relayed to it, and
 * its orders are followed.
 *
 * Calls never throw for an answer of the other book or for a failure on the way: they return what is known. Each call
 * waits for its turn in the request budget and ends with its own timeout.
 */
export interface Upstream {
  /** Name for people, logs and metrics: the host of its URL. */
  readonly name: string;

  /** Reads a second that the request budget allows. Default: 1.5. */
  readonly readRate?: number;

  /**
   * Creates the time of a book. It may be that of the other book, which decides whether an order has expired. Called
   * once, when the book is created. Absent: the book has the time of its host.
   */
  createClock?(host: Clock): Clock;

  /**
   * Begins to serve a book. Called once at each start of the book, before any other method.
   * @throws Error if the other book is known to be of another chain or contract: the book does not start.
   */
  open(context: UpstreamContext): void;

  /** Ends waiting and running calls; they return `failed`, `unknown` or `blocked`. */
  close(): void;

  /** Submits an order in wire format (`POST /api/v1/orders`). */
  submitOrder(order: Readonly<Record<string, unknown>>): Promise<UpstreamWrite>;

  /** Cancels orders by their owner's signature, all or none (`DELETE /api/v1/orders`). */
  cancelOrders(request: Readonly<Record<string, unknown>>): Promise<UpstreamWrite>;

  /** Cancels one order by a signature of that order alone (`DELETE /api/v1/orders/{uid}`). */
  cancelOrder(uid: Hex, request: Readonly<Record<string, unknown>>): Promise<UpstreamWrite>;

  /** Stores a document of app data (`PUT /api/v1/app_data/{hash}`). `accepted`: the other book has it. */
  putAppData(hash: Hex, document: string): Promise<UpstreamWrite>;

  /** Requests a quote in wire format (`POST /api/v1/quote`). */
  quote(request: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<UpstreamQuote>;

  /**
   * Requests quotes as they arrive (`POST /api/v1/quote/stream`). A `rejected` answer is the last element, except for
   * the errors of single solvers in the stream, which are left out.
   */
  quotes(request: unknown, options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<UpstreamQuote>;

  /** Reads orders by UID, at most 128. Orders that are not found, or cannot be read, are absent. */
  getOrders(uids: readonly Hex[]): Promise<UpstreamRead<readonly UpstreamOrder[]>>;

  /** Reads a page of an owner's orders, newest first. `limit` is at most 1000. */
  listOrders(owner: Address, page: UpstreamPage): Promise<UpstreamRead<UpstreamOrderPage>>;

  /** Reads a page of trades, newest first. `limit` is at most 1000. */
  listTrades(
    of: { readonly owner: Address } | { readonly uid: Hex },
    page: UpstreamPage,
  ): Promise<UpstreamRead<readonly UpstreamTrade[]>>;

  /**
   * Reads the price of one atom of a token in atoms of native currency (`GET /api/v1/token/{token}/native_price`).
   * `undefined`: the other book has none.
   */
  nativePrice(
    token: Address,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<UpstreamRead<number | undefined>>;

  /** Returns whether calls are paused, for readiness and metrics. */
  status(): UpstreamStatus;
}

/** What a book gives to its upstream. */
export interface UpstreamContext {
  readonly clock: Clock;
  /** The chain id of the book's orders. */
  readonly chainId: number;
  /** The contract that settles the book's orders. */
  readonly settlementContract: Address;
  /**
   * Reserves the next turn of a class of calls among all processes of the book, at least `interval` milliseconds after
   * the previous one. Returns its time, in milliseconds since 1970. Absent: the book has one process.
   */
  readonly reserve?: (name: string, interval: number) => Promise<number>;
  /** Called after each request, for metrics. */
  readonly onCall: (call: UpstreamCall) => void;
}

/** The classes of calls. Each has its own request budget, and is paused on its own. */
export const UPSTREAM_CLASSES = ['read', 'write', 'quote'] as const;
/** A class of calls. */
export type UpstreamClass = (typeof UPSTREAM_CLASSES)[number];

/** One request, after its end. Calls that were not sent are not reported. */
export interface UpstreamCall {
  readonly class: UpstreamClass;
  readonly outcome: 'ok' | 'rejected' | 'unknown' | 'blocked' | 'failed';
  /** Milliseconds between the request and the end of its response, without the wait for its turn. */
  readonly ms: number;
}

/** The classes of calls that are paused, or fail. Times are milliseconds since 1970. */
export interface UpstreamStatus {
  /**
   * Milliseconds by which the clock of the other book is ahead of this one, exact to about a second. Negative: behind.
   * `undefined` before its first response.
   */
  readonly clockSkew: number | undefined;
  readonly paused: Partial<Record<UpstreamClass, { readonly until: number; readonly reason: string }>>;
  /** The classes whose last calls had no usable answer, with the time of the first one and the last reason. */
  readonly failing: Partial<Record<UpstreamClass, { readonly since: number; readonly reason: string }>>;
}

/** The outcome of a write. */
export type UpstreamWrite =
  /** `uid` is that of a submitted order. */
  | { readonly status: 'accepted'; readonly uid?: string }
  /** The other book has rejected it. Nothing is stored by this call; an earlier one may be. */
  | UpstreamRejection
  /** No answer, or one that proves nothing: it may be stored. */
  | { readonly status: 'unknown'; readonly reason: string }
  /** The call was not sent, or was refused before it reached the other book: nothing is stored by it. */
  | UpstreamBlock;

/** A rejection of the other book: JSON with an `errorType`. */
export interface UpstreamRejection {
  readonly status: 'rejected';
  /** `errorType`, such as `InsufficientBalance`. */
  readonly code: string;
  readonly description: string;
  readonly httpStatus: number;
  readonly data?: unknown;
}

/**
 * Calls of this class are paused: the other book, or what is in front of it, requests fewer calls, or cannot be
 * reached. Also returned when too many calls wait for their turn.
 */
export interface UpstreamBlock {
  readonly status: 'blocked';
  readonly reason: string;
  /** When the class continues, in milliseconds since 1970. */
  readonly until: number;
}

/** The outcome of a quote request. */
export type UpstreamQuote =
  /** The response in wire format. Its expiry has a zone. */
  | { readonly status: 'quoted'; readonly quote: Readonly<Record<string, unknown>> & { readonly id: number | null } }
  | UpstreamRejection
  | { readonly status: 'failed'; readonly reason: string }
  | UpstreamBlock;

/** The outcome of a read. A failure is never evidence that something does not exist. */
export type UpstreamRead<T> =
  /**
   * `startedAt` is when the request was sent, in milliseconds since 1970: what happened later may be missing. `host`
   * has responded: hosts may lag differently.
   */
  | { readonly status: 'read'; readonly value: T; readonly startedAt: number; readonly host: string }
  /** `httpStatus`: the status of the response. Absent: there was none. */
  | { readonly status: 'failed'; readonly reason: string; readonly httpStatus?: number }
  | UpstreamBlock;

/** The page to read. */
export interface UpstreamPage {
  readonly offset: number;
  readonly limit: number;
}

/** A page of orders. */
export interface UpstreamOrderPage {
  readonly orders: readonly UpstreamOrder[];
  /** The UID of each row, `null` without one. Rows that cannot be read are rows. Fewer than `limit`: the last page. */
  readonly rows: readonly (Hex | null)[];
}

/** An order of the other book. Members that are unknown or malformed are left out, unless the order needs them. */
export interface UpstreamOrder extends OrderData {
  readonly uid: Hex;
  readonly owner: Address;
  readonly signingScheme: SigningScheme;
  readonly signature: Hex;
  /** Milliseconds since 1970. */
  readonly creationDate: number;
  /** `undefined`: a status that this release does not know. */
  readonly status: UpstreamOrderStatus | undefined;
  readonly class: 'market' | 'limit' | 'liquidity';
  /** The contract that settles the order. `undefined`: the book does not report it. */
  readonly settlementContract: Address | undefined;
  readonly executedSellAmount: bigint;
  readonly executedBuyAmount: bigint;
  /** Atoms of `executedFeeToken`. */
  readonly executedFee: bigint;
  readonly executedFeeToken: Address | undefined;
  readonly invalidated: boolean;
  /** The document, if it is known and has the hash `appData`. */
  readonly fullAppData: string | undefined;
  /** The account that has placed the order on chain. */
  readonly onchainUser: Address | undefined;
  /** The validity that the user of the native-currency flow chose, in seconds since 1970. */
  readonly userValidTo: number | undefined;
  readonly placementError: string | undefined;
  /** The quote that the other book has linked to it. Lists of an owner's orders do not have it. */
  readonly quote: OrderQuote | undefined;
}

/** The statuses of orders in wire format. */
export const UPSTREAM_STATUSES = ['open', 'presignaturePending', 'fulfilled', 'cancelled', 'expired'] as const;
/** A status of an order in wire format. */
export type UpstreamOrderStatus = (typeof UPSTREAM_STATUSES)[number];

/** A trade of the other book. */
export interface UpstreamTrade {
  readonly uid: Hex;
  readonly owner: Address;
  readonly blockNumber: number;
  readonly logIndex: number;
  /** `undefined`: the other book does not know the transaction yet. */
  readonly transactionHash: Hex | undefined;
  readonly sellToken: Address;
  readonly buyToken: Address;
  /** The amount taken from the owner, including the signed fee. */
  readonly sellAmount: bigint;
  readonly sellAmountBeforeFees: bigint;
  readonly buyAmount: bigint;
}
