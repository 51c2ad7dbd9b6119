/// <reference lib="esnext.disposable" preserve="true" />
// Declarations keep this line, for hosts without the types of Node.js, such as applications in browsers.

import type { Limits } from './admission/limits.ts';
import type { AppDataApi } from './app-data/index.ts';
import type { AuctionApi, DriverObservation } from './auctions/index.ts';
import type { ChainApi, ChainApplied, ChainRolledBack, IndexerObservation, TradeApi } from './chain/index.ts';
import type { Readiness } from './concurrency/lifecycle.ts';
import type { ChainOrderEvent, OrderEvent, RevertedEvent, TradeEvent } from './events.ts';
import type { OrderApi, PruneObservation, SubmissionObservation } from './orders/index.ts';
import type { Clock } from './ports/clock.ts';
import type { StoreObservation } from './ports/store.ts';
import type { UpstreamCall } from './ports/upstream.ts';
import type { Address } from './protocol/hex.ts';
import type { Rules } from './protocol/profile.ts';
import type { EstimatorObservation, QuoteApi } from './quotes/index.ts';
import type { BalanceApi } from './records/balance-api.ts';
import type { EventLog } from './records/event-log.ts';
import type { UpstreamApi, UpstreamDifference } from './upstream/index.ts';
import type { RecoveryObservation } from './verification/index.ts';

/** The events of a book and the arguments of their listeners. */
export interface OrderBookEvents {
  /** An order was accepted and stored, or placed on chain. */
  orderCreated: (event: OrderEvent) => void;
  /** An order was cancelled by its owner: by a signature, by a replacement or on chain. */
  orderCancelled: (event: OrderEvent) => void;
  /** An order that was submitted, or added by a settlement, was placed on chain as well. */
  orderPlaced: (event: ChainOrderEvent) => void;
  /** The owner signed an order on chain. */
  orderPresigned: (event: ChainOrderEvent) => void;
  /** The owner revoked the signature on chain. */
  orderPresignatureRevoked: (event: ChainOrderEvent) => void;
  /** An order was filled, completely (`cause.trade.completes`) or partially. */
  orderTraded: (event: TradeEvent) => void;
  /** The native currency of an order was refunded to its user. */
  orderRefunded: (event: ChainOrderEvent) => void;
  /**
   * An open order expired: neither filled nor cancelled, as far as the chain is indexed. Not emitted for a presign
   * order that was never signed on chain.
   */
  orderExpired: (event: OrderEvent) => void;
  /**
   * An order that was reported as expired is not expired: a block that fills, cancels or revokes it was indexed late, a
   * block was reverted, or a clock that was ahead had recorded the expiry. `orderExpired` is emitted again if the order
   * expires again.
   */
  orderReinstated: (event: OrderEvent) => void;
  /** A block was reverted, and with it the change that `cause.reverted` names. */
  orderReverted: (event: RevertedEvent) => void;
  /** Chain events were stored. */
  chainApplied: (observation: ChainApplied) => void;
  /** Chain events were rolled back. */
  chainRolledBack: (observation: ChainRolledBack) => void;
  /** The indexer made progress, found a reorganisation, or stands by; or a node failed. */
  chainProgress: (observation: IndexerObservation) => void;
  /** An estimator responded or failed. */
  estimatorQueried: (observation: EstimatorObservation) => void;
  /** A call of a driver of `auctions.run` finished. */
  driverCalled: (observation: DriverObservation) => void;
  /** Submitted orders were validated; accepted ones are stored. */
  ordersSubmitted: (observation: SubmissionObservation) => void;
  /** Signers were recovered from signatures. */
  signersRecovered: (observation: RecoveryObservation) => void;
  /** A store operation finished. */
  storeQueried: (observation: StoreObservation) => void;
  /** Old data was deleted. */
  dataPruned: (observation: PruneObservation) => void;
  /** A call of the upstream ended. */
  upstreamCalled: (call: UpstreamCall) => void;
  /** An order of the upstream differs from that of this book. */
  upstreamDiffered: (difference: UpstreamDifference) => void;
  /** A failure without a caller: an unreadable row, a listener that threw, a log that could not be read. */
  failure: (failure: unknown) => void;
}

export const BOOK_EVENTS = [
  'orderCreated',
  'orderCancelled',
  'orderPlaced',
  'orderPresigned',
  'orderPresignatureRevoked',
  'orderTraded',
  'orderRefunded',
  'orderExpired',
  'orderReinstated',
  'orderReverted',
  'chainApplied',
  'chainRolledBack',
  'chainProgress',
  'estimatorQueried',
  'driverCalled',
  'ordersSubmitted',
  'signersRecovered',
  'storeQueried',
  'dataPruned',
  'upstreamCalled',
  'upstreamDiffered',
  'failure',
] as const satisfies readonly (keyof OrderBookEvents)[];

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
  /** Follows orders of the upstream. `undefined` without one. */
  readonly upstream: UpstreamApi | undefined;

  /** Opens the store and starts background work. Other methods throw a `StoreError` `NotStarted` before. */
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
