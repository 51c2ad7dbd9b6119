/**
 * The entry `intentbook/accounts`: affiliates, subscriptions, notifications, balances and dollar prices of accounts.
 *
 * @module
 */

export type { AccountBook } from '../account-tools/account-books.ts';
export { AccountError, type AccountErrorStatus } from '../account-tools/account-error.ts';
export type { SourceListener, SourceObservation, SourceSubject } from '../account-tools/observations.ts';
export type { TokenLabel, TokenLookup } from '../account-tools/token-labels.ts';
export { type ListedToken, listKnownTokens } from '../account-tools/token-labels.ts';
export type {
  AccountBalances,
  AccountOrder,
  AccountOrderPage,
  Accounts,
  AccountsOptions,
  AccountTrade,
  AccountTradePage,
  BalanceEvent,
  BalanceUpdate,
  HistoryApi,
  HistoryQuery,
} from '../accounts/index.ts';
export { createAccounts } from '../accounts/index.ts';
export type {
  AffiliateApi,
  AffiliateRegistration,
  AffiliatesOptions,
  AffiliateTerms,
  RegisteredAffiliate,
  RegistrationResult,
  StatisticsOptions,
} from '../affiliates/index.ts';
export { type AccountApiOptions, composeApis, createAccountApi } from '../http/account-api.ts';
export type {
  BalanceDifferences,
  PoolApi,
  SimulatedTransaction,
  SimulationApi,
  SlippageApi,
  SlippageOptions,
  SlippageOrder,
  SlippageTolerance,
  TokenApi,
  TokenDetails,
  UsdPrice,
  UsdPriceApi,
  UsdPricesOptions,
} from '../market/index.ts';
export { UsdPriceError } from '../market/index.ts';
export type {
  AccountBacklog,
  CreatedSubscription,
  DeliveryApi,
  DeliveryOptions,
  Notification,
  NotificationApi,
  NotificationPage,
  NotificationQuery,
  NotificationStreamEvent,
  RenderedNotifications,
  SubscriptionApi,
  SubscriptionProof,
  SubscriptionRequest,
  SubscriptionView,
} from '../notifications/index.ts';
export { NOTIFICATION_TYPES } from '../ports/notification-store.ts';
