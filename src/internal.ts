/**
 * The tools that the adapters of this package share with the core, imported as `#internal`. Not public.
 *
 * @module
 */

export { toCsvLine } from './account-tools/csv-line.ts';
export { recordPrunedBefore } from './account-tools/pruned-notifications.ts';
export { DeadlineError, onAbort, withDeadline } from './concurrency/abort.ts';
export { createAsyncQueue } from './concurrency/async-queue.ts';
export { createWorker, type Lazy, lazy } from './concurrency/lifecycle.ts';
export { createServiceFetch, parseHttpDate, parseRetryAfter } from './concurrency/service-fetch.ts';
export { untilAborted } from './concurrency/until-aborted.ts';
export { accelerateKeccak, keccak256 } from './crypto/keccak.ts';
export { recoverPacked } from './crypto/packed.ts';
export { SOLVER_ERROR_CODES } from './errors.ts';
export { isTypeRequested } from './http/accept.ts';
export { requireOperator } from './http/auth.ts';
export { chargePage, takeRead } from './http/charge-page.ts';
export {
  CORS_HEADERS,
  failureResponse,
  isApi,
  jsonResponse,
  PREFLIGHT_HEADERS,
  readJson,
  rejectionResponse,
} from './http/message.ts';
export { createOpenStreams } from './http/open-streams.ts';
export { createRequestClient } from './http/request-client.ts';
export type { Endpoint, Match } from './http/route.ts';
export { allowHeader, decodeParam, serveRoutes } from './http/route.ts';
export { createRouteNames } from './http/route-names.ts';
export type { IpRange } from './limits/index.ts';
export {
  createClientResolver,
  createProxyTest,
  formatNetwork,
  isInRange,
  isIpRange,
  isIpv4,
  parseIpAddress,
  parseIpRange,
} from './limits/index.ts';
export { callListener, createFailureReporter } from './listeners.ts';
export { assertSameChain } from './ports/chain-source.ts';
export { readMonotonic, setTickScheduler, yieldToEventLoop } from './ports/clock.ts';
export { assertSameDomain } from './ports/store.ts';
export { array, bytes, bytes32, decodeWords, type Encoded, encodeCall, tuple, word } from './protocol/abi-encoding.ts';
export { affiliateDomainSeparator, PRODUCTION_DOMAIN_NAME } from './protocol/affiliate.ts';
export { appDataHash } from './protocol/app-data.ts';
export { type BoundedCall, type BoundedResult, compileCalls, decodeCalls } from './protocol/bounded-calls.ts';
export type { ChainInfo, Deployment, Environment } from './protocol/chains.ts';
export {
  CHAIN_ALIASES,
  CHAINS,
  chainById,
  chainByName,
  chainBySegment,
  deployment,
  ENVIRONMENTS,
  NATIVE_MARKER,
  SETTLE_SELECTOR,
} from './protocol/chains.ts';
export { type Decimal, formatDecimal, parseDecimal } from './protocol/decimal.ts';
export { encodeSettle } from './protocol/encode-settle.ts';
export { formatSecret } from './protocol/format-value.ts';
export { bytesToHex, hexToBytes, parseHex, unpackUid } from './protocol/hex.ts';
export { BUY_TOKEN_DESTINATIONS, ORDER_KINDS, SELL_TOKEN_SOURCES } from './protocol/order.ts';
export type { PoolSide, PoolsBetween, TradeRoute } from './protocol/pool-routes.ts';
export {
  amountIn,
  amountOut,
  createSwapCalls,
  findBestRoutes,
  getHops,
  listPaths,
  MAX_RESERVE,
  sortTokens,
  UNISWAP_V2_FEE,
} from './protocol/pool-routes.ts';
export { PAIR_POLICIES, PROFILES, RULE_VALUES } from './protocol/profile.ts';
export { computeProtocolFees, deductProtocolFees } from './protocol/protocol-fees.ts';
export { SIGNING_SCHEMES } from './protocol/signature.ts';
export { subscriptionDigest } from './protocol/subscription.ts';
export { MAX_UINT256 } from './protocol/uint256.ts';
export { createExpiryEvent, emitsExpiry, getPlacementVersion } from './records/expiry-event.ts';
export { checkCancellable, getEndTime, getOrderStatus } from './records/order-json.ts';
export { ORDER_STATUSES } from './records/wire-order.ts';
export { createAccountStore, createStore, type StoreOperations } from './store-kit/create-store.ts';
export { FORGOTTEN, getReferralText, REFERRAL_FEEDS } from './store-kit/forgotten.ts';
export { createInMemoryLeases } from './store-kit/in-memory-leases.ts';
export {
  CLAIM_WINDOW,
  DELIVERY_WINDOW,
  type DueDelivery,
  getLaneLimit,
  selectDeliveries,
} from './store-kit/select-deliveries.ts';
export {
  DELIVERY_STATES,
  getQuotaClass,
  getScheme,
  KINDS,
  QUOTA_CLASSES,
  QUOTE_KINDS,
  readSubscription,
  SCHEMES,
  type SubscriptionRow,
} from './store-kit/stored-values.ts';
export { addZone, parseDateTime } from './validation/date.ts';
export { defined } from './validation/defined.ts';
export { formatError } from './validation/error-text.ts';
export {
  assertKnownOptions,
  formatUnknownName,
  MAX_TIMER,
  parseAddress,
  parsePrefix,
  requireChainOption,
  requireFunction,
  requireFunctions,
  requireInteger,
  requireMember,
  requireTable,
} from './validation/options.ts';
export { describePackageFailure, importPackage, isPackageMissing } from './validation/package-failure.ts';
export { createHeaders } from './validation/request-headers.ts';
export { ResponseTooLargeError, readJsonResponse, readResponseText } from './validation/response-text.ts';
export { getEndpoint, parseServiceUrl, type ServiceUrl } from './validation/service-url.ts';
export { VERSION } from './version.ts';

/** Loads the comparison with another book. A static export would be part of the core of every book. */
export const loadReconcile = async () => (await import('./records/reconcile.ts')).reconcile;

/** Loads the selection of a recovery backend, which a book loads at its start. */
export const loadRecovery = () => import('./crypto/recovery.ts');
