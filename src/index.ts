export type { PutDocumentOptions, PutDocumentResult } from './app-data/put.ts';
export type { AuctionApi, AuctionSelection, RecordResult } from './auctions/auction-api.ts';
export type { AuctionChange, AuctionDelta, AuctionStreamOptions } from './auctions/auction-delta.ts';
export type { RenderedAuctionChange, RenderedAuctionStream } from './auctions/auction-feed.ts';
export type { AuctionOptions, FeeCondition, FeePolicyOption, UpcomingFees } from './auctions/auction-options.ts';
export type { Auction, AuctionOrder, AuctionQuote } from './auctions/auction-order.ts';
export type { AuctionPrices } from './auctions/auction-prices.ts';
export type { Competition, CompetitionQuery, CompetitionSolution } from './auctions/competition.ts';
export type { CompetitionStatus, SolverExecution } from './auctions/competition-status.ts';
export type { DriverObservation } from './auctions/drivers/observed-driver.ts';
export type {
  AuctionRound,
  AuctionRun,
  AuctionRunOptions,
  DriverProblem,
  DriverSettlement,
  RoundSolution,
} from './auctions/drivers/run-options.ts';
export type * from './auctions/drivers/solver-driver.ts';
export type { FilterReason } from './auctions/filters.ts';
export type { BalanceApi, BalanceCallOptions, TokenBalance } from './balances/balance-api.ts';
export type { ChainApi, RollbackOptions } from './chain/chain-api.ts';
export type { ChainBatch } from './chain/decode-batch.ts';
export type { IndexerObservation, IndexerOptions, IndexerState } from './chain/indexer-options.ts';
export { ReorganisationTooDeep } from './chain/indexer-options.ts';
export type { OrderTrade, TimedTrade, TradeHistoryQuery, TradeListQuery, TradePage } from './chain/trades.ts';
export type { RecoveryBackend } from './crypto/backend.ts';
export type { RecoveryPool } from './crypto/packed.ts';
export type { RecoveryBackendOption } from './crypto/recovery.ts';
export { createOrderBook } from './engine.ts';
export type { ErrorBody, ErrorCode, ErrorData, ErrorDetail, ErrorEntry, SolverErrorCode } from './errors.ts';
export { ERRORS, OrderBookError } from './errors.ts';
export type {
  ChainApplied,
  ChainOrderEvent,
  ChainRolledBack,
  OrderBookEvents,
  OrderEvent,
  RevertedEvent,
  TradeEvent,
} from './events.ts';
export type { ApiOptions } from './http/api.ts';
export { createApi } from './http/api.ts';
export type { CorsOption } from './http/cors.ts';
export type { Api, ApiRequest, ApiRequestBody, ApiResponse } from './http/message.ts';
export type { RateLimitOptions } from './http/rate-limit.ts';
export type { BeforeSubmit } from './http/route.ts';
export type { RecoveryObservation, StoreObservation, SubmissionObservation } from './instrumentation.ts';
export type { Rate, TokenBucketsOptions } from './limits/token-buckets.ts';
export { tokenBuckets } from './limits/token-buckets.ts';
export type { Logger } from './logger.ts';
export type { OrderBookOptions, OwnerLimitsOption } from './options.ts';
export type {
  AppDataApi,
  OrderApi,
  OrderBook,
  Readiness,
  TradeApi,
} from './order-book.ts';
export type { OrderPolicy, PolicyContext } from './orders/admission.ts';
export type { CancelResult, OrderCancellation, OrderCancellations } from './orders/cancel.ts';
export type { OrderCreation } from './orders/creation.ts';
export type { Limits, OwnerLimits } from './orders/limits.ts';
export type { EncodedPage, EncodedReadOptions, RenderedPage } from './orders/list-orders.ts';
export type { ListQuery } from './orders/list-query.ts';
export type { Order, OrderClass, RenderedOrder, StoredOrderQuote } from './orders/order-json.ts';
export type { OrderPage, OrderResult } from './orders/order-page.ts';
export type { RenderedResult } from './orders/read.ts';
export type { UnreadableOrder } from './orders/render-by-uids.ts';
export type { PruneObservation, RetentionOptions } from './orders/retention-options.ts';
export type { SimulateOptions, SimulateResult } from './orders/simulation.ts';
export type { OrderStatus } from './orders/status.ts';
export type { SubmitOptions, SubmitResult } from './orders/submit.ts';
export type * from './ports/account-store.ts';
export type * from './ports/affiliate-statistics.ts';
export type * from './ports/affiliate-store.ts';
export type * from './ports/announcements.ts';
export type * from './ports/auction-store.ts';
export type * from './ports/bundle-simulation.ts';
export type * from './ports/chain-client.ts';
export type { BlockHeader, ChainSource, LogQuery } from './ports/chain-source.ts';
export { ChainMismatch } from './ports/chain-source.ts';
export type * from './ports/chain-store.ts';
export type * from './ports/channel.ts';
export type { Cancel, Clock } from './ports/clock.ts';
export { systemClock } from './ports/clock.ts';
export type * from './ports/delivery-store.ts';
export type * from './ports/document-source.ts';
export type * from './ports/estimator.ts';
export type * from './ports/limiter.ts';
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
export type * from './ports/token-holders.ts';
export type { Domain } from './protocol/eip712.ts';
export type { Address, Hex } from './protocol/hex.ts';
export type { OrderData, OrderKind } from './protocol/order.ts';
export type { PairPolicy, Profile, Rules } from './protocol/profile.ts';
export type { SigningScheme } from './protocol/signature.ts';
export type { InteractionData, Interactions } from './protocol/trampoline.ts';
export type { EstimatorOutcome } from './quotes/estimator-race.ts';
export type { EstimatorCounters, EstimatorObservation } from './quotes/estimators.ts';
export type { QuoteResult } from './quotes/quote.ts';
export type { NativePriceResult, QuoteApi, QuoteCallOptions } from './quotes/quote-api.ts';
export type { QuoteOptions } from './quotes/quote-options.ts';
export type { QuoteStreamEvent, QuoteStreamResult } from './quotes/quote-stream.ts';
export type { PriceQuality, QuoteRequest } from './quotes/request.ts';
export type { QuotedOrder, QuoteResponse } from './quotes/response.ts';
export type { EventLog } from './streams/event-log.ts';
export type { OrderStreamEvent, OrderStreamFilter } from './streams/order-stream-event.ts';
export type { Stream, StreamEvent, StreamItem, StreamOptions } from './streams/stream.ts';
export type { StreamLimits } from './streams/stream-limits.ts';
export type {
  ExplainedOrder,
  ExplainOptions,
  SignatureExplanation,
  SignedDifference,
} from './verification/explain.ts';
export { explainSignature } from './verification/explain.ts';
export type { SignedDigest } from './verification/recover-many.ts';
export type { Recovered, SignedOrder, Verifier, VerifierOptions } from './verification/verifier.ts';
export { createVerifier } from './verification/verifier.ts';
