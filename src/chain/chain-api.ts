import type { FindDocument } from '../app-data/find-document.ts';
import type { OrderBookEvents } from '../events.ts';
import type { Configuration } from '../options.ts';
import type { OrderCache } from '../orders/cache.ts';
import type { ApplyOutcome, BlockRef, ChainProgress, RollbackOutcome } from '../ports/chain-store.ts';
import type { QuoteResult } from '../quotes/quote.ts';
import type { QuoteRequest } from '../quotes/request.ts';
import type { BatchContext, ChainBatch } from './decode-batch.ts';

/** The condition of a rollback. */
export interface RollbackOptions {
  /** The checkpoint that the caller has seen. If it has moved, nothing is rolled back. Absent: no condition. */
  readonly after?: BlockRef | null;
}

/** Chain methods. The indexer calls them, or a host that indexes the chain itself. */
export interface ChainApi {
  /** Returns the checkpoint. */
  progress(): Promise<ChainProgress>;
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

/** The dependencies of the chain methods. */
export interface ChainContext {
  readonly configuration: Configuration;
  readonly assertStarted: () => void;
  /** Called after entries were appended to the log. */
  readonly wake: () => void;
  readonly cache: Pick<OrderCache, 'forget' | 'clear'> | undefined;
  readonly emit: <E extends 'chainApplied' | 'chainRolledBack' | 'chainProgress'>(
    event: E,
    observation: Parameters<OrderBookEvents[E]>[0],
  ) => void;
  readonly onFailure: (failure: unknown) => void;
  readonly findAuction: BatchContext['findAuction'];
  readonly findDocument: FindDocument | undefined;
  readonly requestQuote: (request: QuoteRequest) => Promise<QuoteResult>;
}
