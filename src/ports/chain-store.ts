import type { Address, Hex } from '../protocol/hex.ts';
import type { LogPosition } from './order-events.ts';
import type { NewOrder } from './order-record.ts';

/** A block, by number and hash. */
export interface BlockRef {
  readonly number: number;
  readonly hash: Hex;
}

interface ChainEventBase extends LogPosition {
  /** The block's time in seconds since 1970; null if unknown. */
  readonly timestamp: number | null;
}

/**
 * `Trade` of the settlement contract: an order was filled, completely or in part. Amounts are decimal strings of atoms.
 */
export interface TradeChainEvent extends ChainEventBase {
  readonly type: 'trade';
  readonly uid: Hex;
  readonly owner: Address;
  readonly sellToken: Address;
  readonly buyToken: Address;
  /** The amount taken from the owner, including the signed fee. */
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** The signed fee: "0" except for very old orders. */
  readonly feeAmount: string;
  /** Network and protocol fees, in atoms of the sell token; null if unknown. */
  readonly executedFee: string | null;
  /** The prices of both tokens at settlement, if known. */
  readonly prices: TradePrices | null;
  /** The protocol's part of the fees, by policy. */
  readonly protocolFees: readonly ProtocolFee[];
  /** The row to insert if the store has none for this UID: a just-in-time order. */
  readonly order?: NewOrder;
}

/** Wei of native currency for 10^18 atoms of a token, decimal; null if unknown. */
export interface TradePrices {
  readonly sellToken: string | null;
  readonly buyToken: string | null;
}

/** One protocol fee of a trade. */
export interface ProtocolFee {
  /** The wire format of the policy: an object with one key, its name. */
  readonly policy: Readonly<Record<string, unknown>>;
  readonly amount: string;
  readonly token: Address;
}

/** `Settlement` of the settlement contract, the last event of a settlement. */
export interface SettlementChainEvent extends ChainEventBase {
  readonly type: 'settlement';
  readonly solver: Address;
  /** The auction id that the transaction contains; null if it contains none. */
  readonly auctionId: number | null;
}

/** `OrderInvalidated` of the settlement contract, or `OrderInvalidation` of a native-currency-flow contract. */
export interface InvalidationChainEvent extends ChainEventBase {
  readonly type: 'invalidation';
  readonly uid: Hex;
}

/** `PreSignature` of the settlement contract: the owner signs on chain or revokes the signature. */
export interface PresignatureChainEvent extends ChainEventBase {
  readonly type: 'presignature';
  readonly uid: Hex;
  readonly signed: boolean;
}

/** `OrderPlacement`: an order was placed on chain. */
export interface PlacementChainEvent extends ChainEventBase {
  readonly type: 'placement';
  readonly uid: Hex;
  /** The row to insert if the store has none for this UID. */
  readonly order: NewOrder;
  /** The address that placed the order. */
  readonly sender: Address;
  /** The validity that the user chose, if the signed one differs; null for orders that are not ethflow orders. */
  readonly userValidTo: number | null;
  readonly placementError: PlacementError | null;
}

/** The names of `PlacementError`. */
export const PLACEMENT_ERRORS = ['QuoteNotFound', 'ValidToTooFarInFuture', 'PreValidationError'] as const;
/** The reason why an order that was placed on chain cannot trade. */
export type PlacementError = (typeof PLACEMENT_ERRORS)[number];

/** `OrderRefund` of a native-currency-flow contract: the sell amount was returned to the user. */
export interface RefundChainEvent extends ChainEventBase {
  readonly type: 'refund';
  readonly uid: Hex;
}

/** A decoded event of the settlement contract or of a native-currency-flow contract. */
export type ChainEvent =
  | TradeChainEvent
  | SettlementChainEvent
  | InvalidationChainEvent
  | PresignatureChainEvent
  | PlacementChainEvent
  | RefundChainEvent;

/** A chain event that belongs to one order. */
export type OrderChainEvent = Exclude<ChainEvent, SettlementChainEvent>;

/** Chain events to store in one step. */
export interface ChainEventBatch {
  /** In chain order, without duplicates, none above `through`, all of one fork. */
  readonly events: readonly ChainEvent[];
  /** Blocks of that fork whose hashes are to be stored, none above `through`. */
  readonly blocks: readonly BlockRef[];
  /** The new checkpoint: the store contains every event up to this block afterwards. */
  readonly through: BlockRef;
  /** The checkpoint that the caller has read. If absent, it is not compared. */
  readonly after?: BlockRef | null;
  /** The `rolledBackTo` that the caller has read. If absent, it is not compared. */
  readonly rolledBackTo?: number;
  /** Hashes of blocks below this number may be deleted. */
  readonly forgetBelow: number;
  /** Milliseconds since 1970, for log entries that have no time themselves. */
  readonly at: number;
}

/** The result of applying a batch of chain events. */
export type ApplyOutcome =
  /** `applied` events are new, `known` events were already stored. */
  | { readonly status: 'applied'; readonly applied: number; readonly known: number; readonly indexedBlock: BlockRef }
  /**
   * A block of the batch has another hash than the stored one: the caller must roll back first. With `log`, the hashes
   * are equal. Two different events have this log index, or the event repeats an equal trade of its transaction, and
   * the calldata does not contain both. Nothing was written.
   */
  | {
      readonly status: 'conflict';
      readonly block: number;
      readonly stored: Hex;
      readonly log?: number;
      readonly indexedBlock: BlockRef;
    }
  /** The checkpoint differs from `after`, or the last rollback from `rolledBackTo`; nothing was written. */
  | { readonly status: 'moved'; readonly indexedBlock: BlockRef | null };

/** The block to roll back to, and the time of the rollback (`at`, milliseconds since 1970). */
export interface RollbackRequest {
  /** The last block whose events are kept. */
  readonly to: number;
  /** The checkpoint that the caller has read. If absent, it is not compared. */
  readonly after?: BlockRef | null;
  readonly at: number;
  /** Seconds that an order waits for its signature on chain if the rollback removes it. Default: to its end. */
  readonly pendingValidity?: number | undefined;
}

/** The result of a rollback; `moved` if the checkpoint differs from `after`. */
export type RollbackOutcome =
  | { readonly status: 'rolledBack'; readonly removed: number; readonly indexedBlock: BlockRef | null }
  | { readonly status: 'moved'; readonly indexedBlock: BlockRef | null };

/** How far the chain has been indexed. */
export interface ChainProgress {
  /** The checkpoint: every event up to this block is stored. Null if nothing is indexed. */
  readonly indexedBlock: BlockRef | null;
  /**
   * The block of the last rollback, if it left no stored hash and so no checkpoint. Every event up to this block is
   * stored. Absent otherwise.
   */
  readonly rolledBackTo?: number;
}

/** The trades to read: those of an order, of an account, or of a transaction. */
export type TradeFilter =
  | { readonly uid: Hex }
  /** Trades of orders that the account owns or has placed on chain. */
  | { readonly account: Address }
  | { readonly transactionHash: Hex };

/** A position in the list of trades: the last trade that was returned. */
export type TradeCursor = Pick<LogPosition, 'blockNumber' | 'logIndex'>;

/** A filter of trades, and the page to read. */
export interface TradeQuery {
  readonly filter: TradeFilter;
  /** Only trades after this position, which are older. */
  readonly after?: TradeCursor;
  readonly offset?: number;
  readonly limit: number;
}

/** Chain events, stored by block number and log index so that they can be rolled back. */
export interface ChainStore {
  /** Returns the checkpoint. Its duration MUST NOT grow with the number of stored hashes: each auction reads it. */
  progress(): Promise<ChainProgress>;

  /** Returns the blocks whose hashes are stored, newest first, including the checkpoint. */
  blocks(): Promise<readonly BlockRef[]>;

  /**
   * Stores chain events, each once, and moves the checkpoint. The same step writes everything that depends on them: the
   * orders' rows, the owners' counters and the log. `projectOrderState` of `intentbook/store-kit` computes a row from
   * all events of the order. `findNewEvents` finds the events that are already known, also under another log index.
   * What it returns as `removed` MUST be removed in the same step: the batch has logs that an earlier answer lacked.
   * Events of orders that are not stored are kept, and `insert` applies them later.
   */
  apply(batch: ChainEventBatch): Promise<ApplyOutcome>;

  /**
   * Stores what another book knows of the chain and this one has not indexed: trades, presignatures, invalidations and
   * placements.
   * Projects them like `apply`, but moves no checkpoint. The hash of their blocks is {@link UNKNOWN_HASH}. An event
   * with block number 0 has an unknown position, before all others: the store assigns its log index. MUST skip events
   * that are known, and those that contradict an indexed event. A known trade that was adopted with another
   * `executedFee` is replaced, without a log entry, unless the new one is null.
   *
   * A later batch replaces the adopted events of the blocks after the checkpoint up to its `through` by its own. An
   * event that both have keeps its log entry; one that the batch lacks is reverted.
   *
   * @param at - Time of their log entries, in milliseconds since 1970.
   * @param complete - Orders of which `events` has all trades, presignatures and invalidations that the other book
   * knows. Adopted ones that it lacks are reverted. Indexed events stay.
   * @returns The number of events stored or reverted.
   */
  adopt(events: readonly OrderChainEvent[], at: number, complete?: readonly Hex[]): Promise<number>;

  /**
   * Rolls back the events of all blocks above `to`, in one step. Rows, counters and totals are recomputed from the
   * remaining events, and the log gets a `reverted` entry for each entry that is no longer true. An order is deleted if
   * only these blocks have placed or traded it; if it was cancelled off chain, a tombstone remains, as of
   * `OrderStore.prune`. The checkpoint becomes the newest stored block that is not above `to`. If there is none,
   * `progress` returns `rolledBackTo` until the next batch: `to`, or the lower block of an earlier rollback.
   */
  rollback(request: RollbackRequest): Promise<RollbackOutcome>;

  /**
   * Reads trades, newest first: by block, then by log index, both descending. The duration MUST NOT grow with the depth
   * of `after`.
   */
  trades(query: TradeQuery): Promise<TradeChainEvent[]>;

  /**
   * Returns the first block in which any order sold or bought a token; `undefined` if there is none. The duration MUST
   * NOT grow with the number of trades. See `firstTradeBlocks` of `intentbook/store-kit`.
   */
  firstTrade(token: Address): Promise<number | undefined>;

  /** Reads the settlements of a transaction, in log order. */
  settlements(transactionHash: Hex): Promise<SettlementChainEvent[]>;

  /** Reads the settlements that name an auction id, in chain order. */
  settlementsOfAuction(auctionId: number): Promise<SettlementChainEvent[]>;
}
