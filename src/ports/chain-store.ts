import type { Address, Hex } from '../protocol/hex.ts';
import type { NewOrder, OrderEventType } from './store.ts';

/** A block, by number and hash. */
export interface BlockRef {
  readonly number: number;
  readonly hash: Hex;
}

/** Where on the chain a fact stands. Block number and log index are its key, the block's hash tells of which fork it is. */
export interface LogPosition {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly logIndex: number;
  readonly transactionHash: Hex;
}

interface ChainEventBase extends LogPosition {
  /** The block's time in seconds since 1970; null when nobody has told it. */
  readonly timestamp: number | null;
}

/** `Trade` of the settlement contract: an order was filled, wholly or in part. Amounts are decimal strings of atoms. */
export interface TradeChainEvent extends ChainEventBase {
  readonly type: 'trade';
  readonly uid: Hex;
  readonly owner: Address;
  readonly sellToken: Address;
  readonly buyToken: Address;
  /** What was taken from the owner, the signed fee included. */
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** The signed fee: "0" but for orders of old. */
  readonly feeAmount: string;
  /** Network and protocol fees, in atoms of the sell token; null when nobody could tell. */
  readonly executedFee: string | null;
  /** What either token was worth when the trade was settled, as far as that is known. */
  readonly prices: TradePrices | null;
  /** The protocol's part of the fees, by policy. */
  readonly protocolFees: readonly ProtocolFee[];
}

/** Wei of native currency for 10^18 atoms of a token, decimal; null when not known. */
export interface TradePrices {
  readonly sellToken: string | null;
  readonly buyToken: string | null;
}

/** One protocol fee of a trade. */
export interface ProtocolFee {
  /** The wire's form of the policy: an object with one key, its name. */
  readonly policy: Readonly<Record<string, unknown>>;
  readonly amount: string;
  readonly token: Address;
}

/** `Settlement` of the settlement contract: closes a settlement. */
export interface SettlementChainEvent extends ChainEventBase {
  readonly type: 'settlement';
  readonly solver: Address;
  /** The auction that the transaction claims to settle; null when it claims none. */
  readonly auctionId: number | null;
}

/** `OrderInvalidated` of the settlement contract, or `OrderInvalidation` of a native-currency-flow contract. */
export interface InvalidationChainEvent extends ChainEventBase {
  readonly type: 'invalidation';
  readonly uid: Hex;
}

/** `PreSignature` of the settlement contract: the owner signs on chain, or takes it back. */
export interface PresignatureChainEvent extends ChainEventBase {
  readonly type: 'presignature';
  readonly uid: Hex;
  readonly signed: boolean;
}

/** `OrderPlacement`: an order was placed on chain. */
export interface PlacementChainEvent extends ChainEventBase {
  readonly type: 'placement';
  readonly uid: Hex;
  /** The row to make when there is none. */
  readonly order: NewOrder;
  /** Who placed it. */
  readonly sender: Address;
  /** The validity that the user chose, where the signed one says something else; null for orders that are not ethflow's. */
  readonly userValidTo: number | null;
  readonly placementError: PlacementError | null;
}

/** Why an order that was placed on chain cannot trade (contract, "Enumerations"). */
export type PlacementError = 'QuoteNotFound' | 'ValidToTooFarInFuture' | 'PreValidationError';

/** `OrderRefund` of a native-currency-flow contract: the sell amount went back to the user. */
export interface RefundChainEvent extends ChainEventBase {
  readonly type: 'refund';
  readonly uid: Hex;
}

/** Something that the chain says. */
export type ChainEvent =
  | TradeChainEvent
  | SettlementChainEvent
  | InvalidationChainEvent
  | PresignatureChainEvent
  | PlacementChainEvent
  | RefundChainEvent;

/** A fact about one order. */
export type OrderChainEvent = Exclude<ChainEvent, SettlementChainEvent>;

/** What the chain has to do with an entry of the log. */
export interface ChainCause {
  readonly position: LogPosition;
  readonly trade?: {
    /** Counts the order's trades in this transaction, from 1. */
    readonly ordinal: number;
    /** Whether this is the trade that has filled the order. */
    readonly completes: boolean;
    readonly sellAmount: string;
    readonly buyAmount: string;
    readonly feeAmount: string;
  };
  /** Of a `reverted` entry: what did not happen after all. The rest is as it was told then. */
  readonly reverted?: Exclude<OrderEventType, 'expired' | 'reinstated' | 'reverted'>;
}

/** Facts to store in one step. */
export interface ChainEventBatch {
  /** In the order of the chain, none twice, none above `through`, of one fork. */
  readonly events: readonly ChainEvent[];
  /** Blocks of that fork whose hashes are worth remembering, none above `through`. */
  readonly blocks: readonly BlockRef[];
  /** How far the facts go: every fact up to this block is in the store afterwards. */
  readonly through: BlockRef;
  /** The indexedBlock that the caller has seen. Absent: whatever it is. */
  readonly after?: BlockRef | null;
  /** Hashes of blocks below this number may be forgotten. */
  readonly forgetBelow: number;
  /** Milliseconds since 1970, for entries of the log that have no time of their own. */
  readonly at: number;
}

/** What became of a batch of facts. */
export type ApplyOutcome =
  /** `applied` facts are new, the others were there. */
  | { readonly status: 'applied'; readonly applied: number; readonly known: number; readonly indexedBlock: BlockRef }
  /** A block of the batch has another hash than the one that is stored: somebody has to roll back first. */
  | { readonly status: 'conflict'; readonly block: number; readonly stored: Hex; readonly indexedBlock: BlockRef }
  /** The indexedBlock is not the one that the caller has seen. */
  | { readonly status: 'moved'; readonly indexedBlock: BlockRef | null };

/** Down to which block facts are taken back, and when (`at`, milliseconds since 1970). */
export interface RollbackRequest {
  /** The last block whose facts stay. */
  readonly to: number;
  /** The indexedBlock that the caller has seen. Absent: whatever it is. */
  readonly after?: BlockRef | null;
  readonly at: number;
}

/** What became of taking blocks back; `moved` when the indexedBlock is not the one that the caller has seen. */
export type RollbackOutcome =
  | { readonly status: 'rolledBack'; readonly removed: number; readonly indexedBlock: BlockRef | null }
  | { readonly status: 'moved'; readonly indexedBlock: BlockRef | null };

/** How far the chain has been read. */
export interface ChainProgress {
  /** Every fact up to this block is stored; null when none has been. */
  readonly indexedBlock: BlockRef | null;
  /** The blocks whose hashes are remembered, newest first, the indexedBlock among them. */
  readonly blocks: readonly BlockRef[];
}

/** Which trades to read: of an order, of an account, or of a transaction. */
export type TradeFilter =
  | { readonly uid: Hex }
  /** Trades of the orders it owns or has placed on chain. */
  | { readonly account: Address }
  | { readonly transactionHash: Hex };

/** Which trades, a page of them. */
export interface TradeQuery {
  readonly filter: TradeFilter;
  readonly offset?: number;
  readonly limit: number;
}

/** What the chain has said, kept by block number and log index so that it can be taken back. */
export interface ChainStore {
  progress(): Promise<ChainProgress>;

  /**
   * Stores facts, each once, and moves the indexedBlock, in one step with what they change: the orders' rows, the owners'
   * counters and the log. How a row follows from its facts is judged by `projectOrderState` of `intentbook/store-kit`, over all
   * facts of the order. A fact whose place is taken by one of the same block is known already. Facts of orders that are
   * not there are kept, and `insert` folds them in when they come.
   */
  apply(batch: ChainEventBatch): Promise<ApplyOutcome>;

  /**
   * Takes back what blocks above `to` have said, in one step: rows, counters and totals are what the remaining facts
   * make of them, and the log gets a `reverted` entry for each that does not stand any more. An order that was placed
   * by such a block is gone. The indexedBlock goes back to the newest remembered block that is not above `to`.
   */
  rollback(request: RollbackRequest): Promise<RollbackOutcome>;

  /** Reads trades, newest first: by block, then by log index, both descending. */
  trades(query: TradeQuery): Promise<TradeChainEvent[]>;

  /**
   * The first block in which a token was sold or bought, by any order; undefined when it never was. The time it takes MUST
   * NOT grow with the number of trades. See `firstTradeBlocks` of `intentbook/store-kit`.
   */
  firstTrade(token: Address): Promise<number | undefined>;

  /** Reads the settlements of a transaction, in their order. */
  settlements(transactionHash: Hex): Promise<SettlementChainEvent[]>;

  /** Reads the settlements that claim to settle an auction, in their order. */
  settlementsOfAuction(auctionId: number): Promise<SettlementChainEvent[]>;
}
