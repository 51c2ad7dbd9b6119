/**
 * The chain: its indexing, the decoding of events, trades and surplus.
 *
 * @module
 */

export type { JustInTimeOrders } from './batch-context.ts';
export { createTrades } from './book-trades.ts';
export { createChain } from './chain.ts';
export type { ChainApi, ChainApplied, ChainRolledBack, RollbackOptions } from './chain-api.ts';
export type { ChainBatch } from './decode-batch.ts';
export type { IndexerObservation, IndexerOptions, IndexerState } from './indexer-options.ts';
export { parseIndexerOptions, ReorganisationTooDeep } from './indexer-options.ts';
export type { TradeApi } from './trade-api.ts';
