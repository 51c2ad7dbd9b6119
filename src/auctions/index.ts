/**
 * Auctions: their orders and prices, recorded competitions, and runs with solvers.
 *
 * @module
 */

export type { AuctionApi, AuctionSelection, RecordResult } from './auction-api.ts';
export type { AuctionChange, AuctionDelta, AuctionStreamOptions } from './auction-delta.ts';
export type { RenderedAuctionChange, RenderedAuctionStream } from './auction-feed.ts';
export type {
  AuctionOptions,
  FeeCondition,
  FeePolicyOption,
  UpcomingFees,
} from './auction-options.ts';
export { parseAuctionOptions } from './auction-options.ts';
export type { Auction, AuctionOrder } from './auction-order.ts';
export { createAuctionFinder, createAuctions } from './auctions.ts';
export type { Competition, CompetitionQuery, CompetitionSolution, CompetitionSummary } from './competition.ts';
export type { DriverObservation } from './drivers/observed-driver.ts';
export type {
  AuctionRound,
  AuctionRun,
  AuctionRunOptions,
  DriverProblem,
  DriverSettlement,
  RoundSolution,
} from './drivers/run-options.ts';
export type {
  DriverContext,
  DriverNotification,
  RevealRequest,
  SettleRequest,
  SolveRequest,
  SolverDriver,
} from './drivers/solver-driver.ts';
export type { AuctionQuote } from './fee-policies.ts';
export { FILTER_REASONS, type FilterReason } from './filter-reason.ts';
export type { OrderCompetition, SettlementAttempt } from './settlement-attempts.ts';
