export type { AccountBacklog, Accounts, AccountsOptions, Deliveries, Notifications } from './accounts/accounts.ts';
export { createAccounts } from './accounts/accounts.ts';
export type {
  AffiliateRegistration,
  Affiliates,
  AffiliatesOptions,
  AffiliateTerms,
  RegisteredAffiliate,
  RegistrationResult,
} from './accounts/affiliates.ts';
export type { BalanceEvent, BalanceUpdate } from './accounts/balance-watch.ts';
export type { AccountBalances } from './accounts/balances.ts';
export type { AccountBook } from './accounts/books.ts';
export type { DispatchOptions } from './accounts/dispatch.ts';
export type { AccountErrorStatus } from './accounts/errors.ts';
export { AccountError } from './accounts/errors.ts';
export type { Notification, NotificationPage, NotificationQuery, RenderedNotifications } from './accounts/list.ts';
export type { KnownToken, TokenLookup } from './accounts/messages.ts';
export type { NotificationStreamEvent } from './accounts/notification-stream.ts';
export type {
  CreatedSubscription,
  ShownSubscription,
  SubscriptionProof,
  SubscriptionRequest,
  Subscriptions,
} from './accounts/subscriptions.ts';
export type { UsdPrice, UsdPrices, UsdPricesOptions } from './accounts/usd-prices.ts';
export { UsdPriceError } from './accounts/usd-prices.ts';
export type { PutDocumentOptions, PutDocumentResult } from './app-data/put.ts';
export type { BalanceCallOptions, Balances, TokenBalance } from './balances/balances.ts';
export type { OrderBookOptions, OwnerLimitsOption } from './configuration.ts';
export type { RecoveryPool } from './crypto/packed.ts';
export type { RecoveryBackend, RecoveryChoice } from './crypto/recovery.ts';
export { createOrderBook } from './engine.ts';
export type { ErrorBody, ErrorCode, ErrorData, ErrorEntry } from './errors.ts';
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
export { composeApis, createAccountApi } from './http/account-api.ts';
export type { ApiOptions } from './http/api.ts';
export { createApi } from './http/api.ts';
export type { GateOptions } from './http/gate.ts';
export type { Api, ApiRequest, ApiRequestBody, ApiResponse } from './http/message.ts';
export type { Rate, TokenBucketsOptions } from './limits/token-buckets.ts';
export { tokenBuckets } from './limits/token-buckets.ts';
export type { RecoveryObservation, StoreObservation, SubmissionObservation } from './observed.ts';
export type { Documents, OrderBook, Orders, Readiness, Trades } from './order-book.ts';
export type { HostCall, HostRules } from './orders/admission.ts';
export type { CancelResult, OrderCancellation, OrderCancellations } from './orders/cancel.ts';
export type { OrderCreation } from './orders/creation.ts';
export type { UnreadableOrder } from './orders/elements.ts';
export type { Limits, OwnerLimits } from './orders/limits.ts';
export type { ListQuery, OrderPage, OrderResult } from './orders/listing.ts';
export type { RenderedPage, RenderedResult } from './orders/read.ts';
export type { OrderStatus } from './orders/status.ts';
export type { SubmitOptions, SubmitResult } from './orders/submit.ts';
export type { Order, OrderClass, RenderedOrder, StoredOrderQuote } from './orders/wire.ts';
export type * from './ports/account-store.ts';
export { NOTIFICATION_TYPES } from './ports/account-store.ts';
export type * from './ports/affiliates.ts';
export type * from './ports/announcements.ts';
export type * from './ports/auctions.ts';
export type * from './ports/chain.ts';
export type { BlockHeader, ChainSource, LogQuery } from './ports/chain-source.ts';
export { ChainMismatch } from './ports/chain-source.ts';
export type * from './ports/channel.ts';
export type { Cancel, Clock } from './ports/clock.ts';
export { systemClock } from './ports/clock.ts';
export type * from './ports/estimator.ts';
export type * from './ports/facts.ts';
export type * from './ports/limiter.ts';
export type * from './ports/prices.ts';
export type * from './ports/quotes.ts';
export type * from './ports/store.ts';
export { StoreError } from './ports/store.ts';
export type {
  ChainLog,
  EmittedOrder,
  EventPlace,
  OnchainOrderEvent,
  ProtocolEvent,
  SettlementEvent,
} from './protocol/chain-events.ts';
export { decodeLog, EVENT_TOPICS } from './protocol/chain-events.ts';
export type { Domain } from './protocol/eip712.ts';
export type {
  ExplainedOrder,
  ExplainOptions,
  SignatureExplanation,
  SignedDifference,
} from './protocol/explain.ts';
export { explainSignature } from './protocol/explain.ts';
export type { Address, Hex } from './protocol/hex.ts';
export type { OrderKind } from './protocol/order.ts';
export type { SignedDigest } from './protocol/recover-many.ts';
export type { InteractionData, Interactions } from './protocol/trampoline.ts';
export type { Recovered, SignedOrder, Verifier, VerifierOptions } from './protocol/verifier.ts';
export { createVerifier } from './protocol/verifier.ts';
export type { QuoteOptions } from './quotes/options.ts';
export type { QuoteResult } from './quotes/quote.ts';
export type { NativePriceResult, QuoteCallOptions, Quotes } from './quotes/quotes.ts';
export type { SourceOutcome } from './quotes/race.ts';
export type { PriceQuality, QuoteRequest } from './quotes/request.ts';
export type { SourceCounters, SourceObservation } from './quotes/sources.ts';
export type { QuoteStreamEvent, QuoteStreamResult } from './quotes/stream.ts';
export type { QuotedOrder, QuoteResponse } from './quotes/wire.ts';
export type { Auction } from './settlement/auction.ts';
export type { AuctionOrder, AuctionQuote } from './settlement/auction-order.ts';
export type { AuctionPrices } from './settlement/auction-prices.ts';
export type { AuctionVerbs, RecordResult } from './settlement/auction-verbs.ts';
export type { ChainBatch } from './settlement/batch.ts';
export type { ChainVerbs, RollbackOptions } from './settlement/chain.ts';
export type { Competition, CompetitionSolution } from './settlement/competition.ts';
export type { CompetitionStatus, SolverExecution } from './settlement/competition-status.ts';
export type { FollowObservation, FollowOptions, FollowState } from './settlement/follow-options.ts';
export { ReorganisationTooDeep } from './settlement/follow-options.ts';
export type { OrderTrade, TradeListQuery } from './settlement/trades.ts';
export type { Stream, StreamEvent, StreamItem, StreamOptions } from './streams/hub.ts';
export type { StreamLimits } from './streams/limits.ts';
export type { OrderStreamEvent, OrderStreamFilter } from './streams/order-stream.ts';
export type { BookLog } from './streams/orders.ts';
