/**
 * The entry `intentbook/accounts`: affiliates, subscriptions, notifications, balances and dollar prices of accounts.
 *
 * @module
 */

export type { AccountBalances } from '../accounts/account-balances.ts';
export type { AccountBook } from '../accounts/account-books.ts';
export type { AccountErrorStatus } from '../accounts/account-error.ts';
export { AccountError } from '../accounts/account-error.ts';
export { createAccounts } from '../accounts/accounts.ts';
export type {
  AccountBacklog,
  Accounts,
  DeliveryApi,
  NotificationApi,
} from '../accounts/accounts-api.ts';
export type { AccountsOptions } from '../accounts/accounts-options.ts';
export type {
  AffiliateApi,
  AffiliateRegistration,
  AffiliatesOptions,
  AffiliateTerms,
  RegisteredAffiliate,
  RegistrationResult,
  StatisticsOptions,
} from '../accounts/affiliates.ts';
export type { BalanceEvent, BalanceUpdate } from '../accounts/balance-watch.ts';
export type { DeliveryOptions } from '../accounts/delivery-dispatcher.ts';
export type {
  AccountOrder,
  AccountOrderPage,
  AccountTrade,
  AccountTradePage,
  HistoryApi,
  HistoryQuery,
} from '../accounts/history/history-api.ts';
export type { Notification } from '../accounts/notification.ts';
export type { NotificationPage, NotificationQuery, RenderedNotifications } from '../accounts/notification-list.ts';
export type { TokenLabel, TokenLookup } from '../accounts/notification-messages.ts';
export type { NotificationStreamEvent } from '../accounts/notification-stream.ts';
export type { SourceListener, SourceObservation, SourceSubject } from '../accounts/observations.ts';
export type { PoolApi } from '../accounts/pools.ts';
export type { SimulatedTransaction, SimulationApi } from '../accounts/simulation/simulation.ts';
export type { BalanceDifferences } from '../accounts/simulation/state-diff.ts';
export type { SlippageApi, SlippageOrder, SlippageTolerance } from '../accounts/slippage/slippage.ts';
export type { SlippageOptions } from '../accounts/slippage/slippage-options.ts';
export type {
  CreatedSubscription,
  SubscriptionApi,
  SubscriptionProof,
  SubscriptionRequest,
  SubscriptionView,
} from '../accounts/subscriptions.ts';
export type { TokenApi, TokenDetails } from '../accounts/token-details.ts';
export type { UsdPrice, UsdPriceApi, UsdPricesOptions } from '../accounts/usd-prices.ts';
export { UsdPriceError } from '../accounts/usd-prices.ts';
export type { AccountApiOptions } from '../http/account-api.ts';
export { composeApis, createAccountApi } from '../http/account-api.ts';
export { NOTIFICATION_TYPES } from '../ports/notification-store.ts';
