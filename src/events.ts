import type { DriverObservation } from './auctions/drivers/observed-driver.ts';
import type { IndexerObservation } from './chain/indexer-options.ts';
import type { RecoveryObservation, StoreObservation, SubmissionObservation } from './instrumentation.ts';
import type { PruneObservation } from './orders/retention-options.ts';
import type { BlockRef } from './ports/chain-store.ts';
import type { ChainCause } from './ports/order-events.ts';
import type { Address, Hex } from './protocol/hex.ts';
import type { EstimatorObservation } from './quotes/estimators.ts';

/** A change of an order, emitted after it is stored. */
export interface OrderEvent {
  /** The position in the event log. Increases in the order of commits. */
  readonly id: number;
  readonly uid: Hex;
  readonly owner: Address;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The chain event that caused it, if any. */
  readonly cause?: ChainCause;
}

/** A change of an order that a chain event caused. */
export interface ChainOrderEvent extends OrderEvent {
  readonly cause: ChainCause;
}

/** A fill. */
export interface TradeEvent extends OrderEvent {
  readonly cause: ChainCause & Required<Pick<ChainCause, 'trade'>>;
}

/** The reversal of a chain event whose block was reverted. */
export interface RevertedEvent extends OrderEvent {
  readonly cause: ChainCause & Required<Pick<ChainCause, 'reverted'>>;
}

/** The result of applying a batch of chain events. */
export interface ChainApplied {
  /** The checkpoint after the batch. */
  readonly indexedBlock: BlockRef;
  /** Number of new chain events. */
  readonly applied: number;
  /** Number of chain events that were stored before. */
  readonly known: number;
  /** Number of events that do not concern orders of this protocol. */
  readonly ignored: number;
  /** Number of trades whose executed fee could not be determined. */
  readonly unattributed: number;
}

/** The result of a rollback of blocks. */
export interface ChainRolledBack {
  /** The last block whose events are kept. */
  readonly to: number;
  /** The checkpoint after the rollback; null if no block is left. */
  readonly indexedBlock: BlockRef | null;
  /** Number of removed chain events. */
  readonly removed: number;
}

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
  /** A failure without a caller: an unreadable row, a listener that threw, a log that could not be read. */
  failure: (failure: unknown) => void;
}
