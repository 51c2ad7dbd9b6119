export type { OrderCreation } from './admission/creation.ts';
export type { Limits, OwnerLimits } from './admission/limits.ts';
export type { OrderPolicy, PolicyContext } from './admission/policy.ts';
export type { AppDataApi, PutDocumentOptions, PutDocumentResult } from './app-data/index.ts';
export type {
  Auction,
  AuctionApi,
  AuctionChange,
  AuctionDelta,
  AuctionOptions,
  AuctionOrder,
  AuctionQuote,
  AuctionRound,
  AuctionRun,
  AuctionRunOptions,
  AuctionSelection,
  AuctionStreamOptions,
  Competition,
  CompetitionQuery,
  CompetitionSolution,
  CompetitionSummary,
  DriverContext,
  DriverNotification,
  DriverObservation,
  DriverProblem,
  DriverSettlement,
  FeeCondition,
  FeePolicyOption,
  FilterReason,
  OrderCompetition,
  RecordResult,
  RenderedAuctionChange,
  RenderedAuctionStream,
  RevealRequest,
  RoundSolution,
  SettlementAttempt,
  SettleRequest,
  SolveRequest,
  SolverDriver,
  UpcomingFees,
} from './auctions/index.ts';
export type {
  ChainApi,
  ChainApplied,
  ChainBatch,
  ChainRolledBack,
  IndexerObservation,
  IndexerOptions,
  IndexerState,
  RollbackOptions,
  TradeApi,
} from './chain/index.ts';
export { ReorganisationTooDeep } from './chain/index.ts';
export type { Readiness } from './concurrency/lifecycle.ts';
export type { RecoveryBackend } from './crypto/backend.ts';
export type { RecoveryPool } from './crypto/packed.ts';
export type { RecoveryBackendOption } from './crypto/recovery.ts';
export { createOrderBook } from './engine.ts';
export type { ErrorBody, ErrorCode, ErrorData, ErrorDetail, ErrorEntry, SolverErrorCode } from './errors.ts';
export { ERRORS, OrderBookError } from './errors.ts';
export type { ChainOrderEvent, OrderEvent, RevertedEvent, TradeEvent } from './events.ts';
export { type ApiOptions, createApi } from './http/api.ts';
export type { CorsOption } from './http/cors.ts';
export type { Api, ApiRequest, ApiRequestBody, ApiResponse } from './http/message.ts';
export type { RateLimitOptions } from './http/rate-limit.ts';
export type { BeforeSubmit } from './http/route.ts';
export { type Rate, type StreamLimits, type TokenBucketsOptions, tokenBuckets } from './limits/index.ts';
export type { OrderBookOptions, OwnerLimitsOption } from './options.ts';
export type { OrderBook, OrderBookEvents } from './order-book.ts';
export type {
  CancelResult,
  EncodedPage,
  EncodedReadOptions,
  OrderApi,
  OrderCancellation,
  OrderCancellations,
  PruneObservation,
  RetentionOptions,
  SimulateOptions,
  SimulateResult,
  SubmissionObservation,
  SubmitOptions,
  SubmitResult,
} from './orders/index.ts';
export type * from './ports/account-store.ts';
export type * from './ports/affiliate-statistics.ts';
export type * from './ports/affiliate-store.ts';
export type * from './ports/announcements.ts';
export type * from './ports/auction-store.ts';
export type * from './ports/bundle-simulation.ts';
export type * from './ports/chain-client.ts';
export { type BlockHeader, ChainMismatch, type ChainSource, type LogQuery } from './ports/chain-source.ts';
export type * from './ports/chain-store.ts';
export type * from './ports/channel.ts';
export { type Cancel, type Clock, systemClock } from './ports/clock.ts';
export type * from './ports/delivery-store.ts';
export type * from './ports/document-source.ts';
export type * from './ports/estimator.ts';
export type * from './ports/limiter.ts';
export type { Logger } from './ports/logger.ts';
export type * from './ports/notification-store.ts';
export type * from './ports/order-events.ts';
export type * from './ports/order-record.ts';
export type * from './ports/order-simulator.ts';
export type * from './ports/pools.ts';
export type * from './ports/price-history.ts';
export type * from './ports/prices.ts';
export type * from './ports/quote-store.ts';
export type * from './ports/quote-verifier.ts';
export type { Random } from './ports/random.ts';
export type * from './ports/retention.ts';
export type * from './ports/store.ts';
export { StoreError } from './ports/store.ts';
export type * from './ports/subscription-store.ts';
export type * from './ports/task-store.ts';
export type * from './ports/token-balances.ts';
export type * from './ports/token-holders.ts';
export type * from './ports/upstream.ts';
export { UPSTREAM_CLASSES, UPSTREAM_STATUSES } from './ports/upstream.ts';
export type * from './ports/vaults.ts';
export type { Domain } from './protocol/eip712.ts';
export type { Address, Hex } from './protocol/hex.ts';
export { UNKNOWN_HASH } from './protocol/hex.ts';
export type { OrderData, OrderKind } from './protocol/order.ts';
export type { PairPolicy, Profile, Rules } from './protocol/profile.ts';
export type { PriceQuality, QuoteRequest } from './protocol/quote-request.ts';
export type { SigningScheme } from './protocol/signature.ts';
export type { InteractionData, Interactions } from './protocol/trampoline.ts';
export type {
  EstimatorCounters,
  EstimatorObservation,
  EstimatorOutcome,
  NativePriceResult,
  QuoteApi,
  QuoteCallOptions,
  QuotedOrder,
  QuoteOptions,
  QuoteResponse,
  QuoteResult,
  QuoteStreamEvent,
  QuoteStreamResult,
} from './quotes/index.ts';
export type { BalanceApi } from './records/balance-api.ts';
export type { CompetitionStatus, SolverExecution } from './records/competition-status.ts';
export type { EventLog } from './records/event-log.ts';
export type { RenderedOrder, RenderedResult, UnreadableOrder } from './records/order-json.ts';
export type { OrderStreamFilter } from './records/order-stream-filter.ts';
export type * from './records/results.ts';
export type { AuctionPrices } from './records/settled-solution.ts';
export type { Order, OrderClass, OrderStatus, StoredOrderQuote } from './records/wire-order.ts';
export type { OrderStreamEvent, Stream, StreamEvent, StreamItem, StreamOptions } from './streams/index.ts';
export type {
  RelayMode,
  UpstreamApi,
  UpstreamDifference,
  UpstreamOrderState,
  UpstreamOwnerState,
  UpstreamScope,
  UpstreamState,
} from './upstream/index.ts';
export type {
  ExplainedOrder,
  ExplainOptions,
  Recovered,
  RecoveryObservation,
  SignatureExplanation,
  SignedDifference,
  SignedDigest,
  SignedOrder,
  Verifier,
  VerifierOptions,
} from './verification/index.ts';
export { createVerifier, explainSignature } from './verification/index.ts';
