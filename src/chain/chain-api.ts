import type { DocumentPolicy } from '../admission/documents.ts';
import type { Limits, TokenPolicy } from '../admission/limits.ts';
import type { OrderQuoting } from '../admission/order-quoting.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { ApplyOutcome, BlockRef, ChainProgress, RollbackOutcome } from '../ports/chain-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { Settled } from './attribution.ts';
import type { BatchContext, JustInTimeOrders } from './batch-context.ts';
import type { ChainBatch } from './decode-batch.ts';
import type { IndexerObservation, ParsedIndexerOptions } from './indexer-options.ts';

/** The condition of a rollback. */
export interface RollbackOptions {
  /** The checkpoint that the caller has seen. If it has moved, nothing is rolled back. Absent: no condition. */
  readonly after?: BlockRef | null;
}

/** Chain methods. The indexer calls them, or a host that indexes the chain itself. */
export interface ChainApi {
  /** Returns the checkpoint. */
  progress(): Promise<ChainProgress>;
  /** Returns the blocks whose hashes are stored, newest first, including the checkpoint. */
  blocks(): Promise<readonly BlockRef[]>;
  /**
   * Stores chain events and moves the checkpoint in one durable step. Each event counts once. Events of unknown orders
   * wait for their order. Throws a `TypeError` if the batch contradicts itself.
   */
  apply(batch: ChainBatch): Promise<ApplyOutcome>;
  /**
   * Rolls back the chain events above a block in one durable step; the indexer continues after this block. Block -1
   * precedes the first one of the chain.
   */
  rollback(toBlock: number, options?: RollbackOptions): Promise<RollbackOutcome>;
}

interface ChainObservations {
  readonly chainApplied: ChainApplied;
  readonly chainRolledBack: ChainRolledBack;
  readonly chainProgress: IndexerObservation;
}

/** The parsed options of a book that its chain methods need. */
export interface ChainConfiguration {
  readonly chainId: number;
  readonly settlementContract: Address;
  readonly hooksTrampoline: Address;
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly tokens: TokenPolicy;
  readonly chain: ChainClient | undefined;
  /** Timeout of one check of a node, in milliseconds. */
  readonly checkTimeout: number;
  readonly indexer: ParsedIndexerOptions | undefined;
  readonly justInTimeOrders: JustInTimeOrders;
  /** `undefined`: placements are not quoted. */
  readonly quotes: object | undefined;
}

/** What the book provides to its chain methods. */
export interface ChainContext extends ChainConfiguration {
  readonly assertStarted: () => void;
  /** Called after entries were appended to the log. */
  readonly wake: () => void;
  readonly cache: { forget(uids: readonly Hex[]): void; clear(): void } | undefined;
  readonly emit: <E extends keyof ChainObservations>(event: E, observation: ChainObservations[E]) => void;
  readonly onFailure: (failure: unknown) => void;
  readonly findAuction: BatchContext['findAuction'];
  readonly documents: DocumentPolicy;
  readonly requestQuote: OrderQuoting['requestQuote'];
  /** Called with the settlements of a batch before it is applied, so that nothing of them is missed after a crash. */
  readonly onSettled?: ((settlements: readonly Settled[], uids: readonly Hex[]) => Promise<void>) | undefined;
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
