import type { IndexerObservation } from './chain/indexer-options.ts';
import type { RecoveryObservation, StoreObservation, SubmissionObservation } from './instrumentation.ts';
import type { BlockRef, ChainCause } from './ports/chain-store.ts';
import type { Address, Hex } from './protocol/hex.ts';
import type { EstimatorObservation } from './quotes/estimators.ts';

/** Something that happened to an order, told after it is stored. */
export interface OrderEvent {
  /** Its place in the book's log; counts up in the order of commits. */
  readonly id: number;
  readonly uid: Hex;
  readonly owner: Address;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The fact behind it, when it is the chain that says so. */
  readonly cause?: ChainCause;
}

/** Something that the chain says about an order. */
export interface ChainOrderEvent extends OrderEvent {
  readonly cause: ChainCause;
}

/** A fill. */
export interface TradeEvent extends OrderEvent {
  readonly cause: ChainCause & Required<Pick<ChainCause, 'trade'>>;
}

/** A block was taken back. */
export interface RevertedEvent extends OrderEvent {
  readonly cause: ChainCause & Required<Pick<ChainCause, 'reverted'>>;
}

/** What became of a batch of events. */
export interface ChainApplied {
  readonly indexedBlock: BlockRef;
  readonly applied: number;
  readonly known: number;
  /** Events that are no orders of this protocol. */
  readonly ignored: number;
  /** Trades of which nobody could tell what fee they have paid. */
  readonly unattributed: number;
}

/** Blocks were taken back, and with them what they had said. */
export interface ChainRolledBack {
  readonly to: number;
  readonly indexedBlock: BlockRef | null;
  readonly removed: number;
}

/** The events of a book, by name, with their listeners' arguments. */
export interface OrderBookEvents {
  /** An order was accepted and stored, or placed on chain. */
  orderCreated: (event: OrderEvent) => void;
  /** An order was cancelled by its owner, by a signature or on chain. */
  orderCancelled: (event: OrderEvent) => void;
  /** An order that had been sent in was placed on chain too. */
  orderPlaced: (event: ChainOrderEvent) => void;
  /** The owner has signed an order on chain. */
  orderPresigned: (event: ChainOrderEvent) => void;
  /** The owner has taken that signature back. */
  orderPresignatureRevoked: (event: ChainOrderEvent) => void;
  /** An order was filled, wholly (`cause.trade.completes`) or in part. */
  orderTraded: (event: TradeEvent) => void;
  /** What an order for native currency had set aside went back to its user. */
  orderRefunded: (event: ChainOrderEvent) => void;
  /**
   * The time of an order has passed while it was open: neither filled nor cancelled, as far as the chain has been read. Not
   * told of a presign order that was never signed on chain.
   */
  orderExpired: (event: OrderEvent) => void;
  /**
   * An order that was told expired is not after all: a block was read late in which it is filled, cancelled or signed away, or
   * one was taken back. `orderExpired` is told again if it expires again.
   */
  orderReinstated: (event: OrderEvent) => void;
  /** A block was taken back, and with it what `cause.reverted` names. */
  orderReverted: (event: RevertedEvent) => void;
  /** Something that the chain says was stored. */
  chainApplied: (observation: ChainApplied) => void;
  /** Something that the chain had said was taken back. */
  chainRolledBack: (observation: ChainRolledBack) => void;
  /** How following the chain goes: progress, reorganisations, nodes that fail. */
  chainProgress: (observation: IndexerObservation) => void;
  /** A source of prices was asked something. */
  estimatorQueried: (observation: EstimatorObservation) => void;
  /** Orders were judged, and those that were accepted are stored. */
  ordersSubmitted: (observation: SubmissionObservation) => void;
  /** Signers were recovered from signatures. */
  signersRecovered: (observation: RecoveryObservation) => void;
  /** The store has answered. */
  storeQueried: (observation: StoreObservation) => void;
  /** Something failed that no caller waits for: a damaged row, a listener that threw, a log that could not be read. */
  failure: (failure: unknown) => void;
}
