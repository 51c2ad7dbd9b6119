import type { ErrorCode } from '../../errors.ts';
import type { SchemaName } from './schemas.ts';

/** A successful response. */
export interface Success {
  readonly description: string;
  /** A JSON schema, a list of it, plain text, an event stream, or no body. */
  readonly body: SchemaName | readonly [SchemaName] | 'text' | 'page' | 'events' | 'nothing';
  /** Another media type of the body, which the client can request. */
  readonly file?: 'text/csv';
  readonly headers?: readonly string[];
}

/** The documentation of a route that its definition does not contain. */
export interface Operation {
  readonly summary: string;
  readonly tag: 'orders' | 'quotes' | 'trades' | 'app data' | 'tokens' | 'solvers' | 'server' | 'accounts';
  /** Query parameters by name. */
  readonly query?: Readonly<Record<string, { readonly type: 'string' | 'integer'; readonly description: string }>>;
  readonly body?: SchemaName;
  readonly success: Readonly<Record<number, Success>>;
  /** Rejection codes of this route. Codes that any route may return are added. */
  readonly errors?: readonly ErrorCode[];
}

const text = (description: string) => ({ type: 'string', description }) as const;
const integer = (description: string) => ({ type: 'integer', description }) as const;

const PAGE = {
  limit: integer('Page size, 1 to 1000. Default: 10.'),
  cursor: text('Start of the page, from the `Link` header of the previous page.'),
};
const HISTORY = {
  limit: integer('Page size, 1 to 1000. Default: 100; all rows in CSV.'),
  cursor: PAGE.cursor,
  format: text('`json` or `csv`. Default: by the `Accept` header, otherwise `json`.'),
};
const ORDERS_PAGE: Success = {
  description: 'Orders, newest first. `Link` has the address of the next page, if there is one.',
  body: ['Order'],
  headers: ['Link'],
};
const CANCELLED: Success = { description: 'All orders are cancelled.', body: 'Cancelled' };
const ORDER_LOOKUP = ['InvalidSignature', 'WrongOwner', 'OrderNotFound', 'OnChainOrder'] as const;
const CANCELLATION: readonly ErrorCode[] = [...ORDER_LOOKUP, 'OrderFullyExecuted', 'AlreadyCancelled', 'OrderExpired'];
const APP_DATA: readonly ErrorCode[] = ['InvalidAppData', 'AppDataHashMismatch'];
const ORDER_RULES: readonly ErrorCode[] = [
  'NonZeroFee',
  'InvalidSignature',
  'MissingFrom',
  'AppdataFromMismatch',
  'UnsupportedSigningScheme',
  'DuplicatedOrder',
  'ZeroAmount',
  'SellAmountOverflow',
  'BuyAmountOverflow',
  'OrderExpired',
  'InsufficientValidTo',
  'ExcessiveValidTo',
  'InvalidValidFrom',
  'SameBuyAndSellToken',
  'InvalidNativeSellToken',
  'UnsupportedToken',
  'UnsupportedSellTokenSource',
  'UnsupportedBuyTokenDestination',
  'TooMuchGas',
  'InsufficientBalance',
  'InsufficientAllowance',
  'TransferSimulationFailed',
  'TooManyLimitOrders',
  'OldOrderActivelyBidOn',
  'OrderNotFound',
  'WrongOwner',
  'OnChainOrder',
  'OrderFullyExecuted',
  'AlreadyCancelled',
  'Forbidden',
  'ChainUnavailable',
  'OutcomeUnknown',
  ...APP_DATA,
];
const QUOTE_RULES: readonly ErrorCode[] = [
  'InvalidParameter',
  'NoLiquidity',
  'SellAmountDoesNotCoverFee',
  'QuoteNotVerified',
  'UnsupportedToken',
  'SameBuyAndSellToken',
  'InvalidNativeSellToken',
  'UnsupportedSigningScheme',
  'AppdataFromMismatch',
  'InsufficientValidTo',
  'ExcessiveValidTo',
  'OrderExpired',
  'InvalidValidFrom',
  'Forbidden',
  'ChainUnavailable',
  'SellAmountOverflow',
  'BuyAmountOverflow',
  'ZeroAmount',
  ...APP_DATA,
];
const UNSUBSCRIBE = {
  id: text('Id of the subscription.'),
  token: text('Token from a message of the subscription.'),
};
const TOKENS = { tokens: text('Addresses separated by commas, at most 100. Required.') };
const statistics = (summary: string): Operation => ({
  summary,
  tag: 'accounts',
  success: { 200: { description: 'Statistics of the configured source.', body: 'AffiliateStatistics' } },
});
const ready: Operation = {
  summary: 'Returns whether the book can serve',
  tag: 'server',
  success: { 200: { description: 'The book can serve.', body: 'Readiness' } },
};
const competition: Operation = {
  summary: 'Returns the competition of an auction',
  tag: 'solvers',
  success: { 200: { description: 'Solutions, worst first.', body: 'Competition' } },
  errors: ['NotFound'],
};
const latestCompetition: Operation = { ...competition, summary: 'Returns the competition of the highest auction id' };
const competitionOfTransaction: Operation = {
  ...competition,
  summary: 'Returns the competition of the auction that a transaction settled',
};
const putDocument: Operation = {
  summary: 'Stores an app-data document',
  tag: 'app data',
  body: 'AppDataDocument',
  success: {
    200: { description: 'The document is known. The body is its hash.', body: 'AppDataHash' },
    201: { description: 'The document is stored. The body is its hash.', body: 'AppDataHash' },
  },
  errors: APP_DATA,
};

/** The documentation of each route, by method and path. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /api/v1/orders': {
    summary: 'Submits a signed order',
    tag: 'orders',
    body: 'OrderCreation',
    success: { 201: { description: 'The order is stored durably. The body is its UID.', body: 'UID' } },
    errors: ORDER_RULES,
  },
  'GET /api/v1/orders': {
    summary: 'Lists orders',
    tag: 'orders',
    query: {
      status: text('Status of the orders.'),
      sellToken: text('Sell token of the orders.'),
      buyToken: text('Buy token of the orders.'),
      owner: text('Owner of the orders.'),
      ...PAGE,
    },
    success: { 200: ORDERS_PAGE },
    errors: ['InvalidParameter'],
  },
  'DELETE /api/v1/orders': {
    summary: 'Cancels up to 128 orders with one signature: all or none',
    tag: 'orders',
    body: 'OrderCancellations',
    success: { 200: CANCELLED },
    errors: ['TooManyOrderUids', ...CANCELLATION],
  },
  'POST /api/v1/orders/by_uids': {
    summary: 'Returns up to 128 orders. Unknown UIDs are left out',
    tag: 'orders',
    body: 'UIDs',
    success: { 200: { description: 'In no particular order.', body: ['OrderResult'] } },
    errors: ['TooManyOrderUids'],
  },
  'GET /api/v1/orders/:uid': {
    summary: 'Returns an order',
    tag: 'orders',
    success: {
      200: { description: 'The order.', body: 'Order', headers: ['ETag'] },
      304: { description: 'The client has this version (If-None-Match).', body: 'nothing', headers: ['ETag'] },
    },
    errors: ['NotFound'],
  },
  'DELETE /api/v1/orders/:uid': {
    summary: 'Cancels an order',
    tag: 'orders',
    body: 'OrderCancellation',
    success: { 200: CANCELLED },
    errors: CANCELLATION,
  },
  'GET /api/v1/account/:owner/orders': {
    summary: 'Lists the orders of an account',
    tag: 'orders',
    query: { offset: integer('Number of results to skip.'), ...PAGE },
    success: { 200: ORDERS_PAGE },
  },
  'GET /api/v1/orders/:uid/status': {
    summary: 'Returns the status of an order in the solver competition',
    tag: 'orders',
    success: { 200: { description: 'The status.', body: 'CompetitionStatus' } },
    errors: ['NotFound'],
  },
  'GET /api/v1/transactions/:hash/orders': {
    summary: 'Lists the orders that a transaction traded',
    tag: 'trades',
    success: { 200: { description: 'In the order of their trades.', body: ['Order'] } },
  },
  'GET /api/v1/trades': {
    summary: 'Lists trades without pages',
    tag: 'trades',
    query: {
      owner: text('Owner of the trades. Exactly one of owner and orderUid is required.'),
      orderUid: text('Order of the trades.'),
    },
    success: { 200: { description: 'Newest first.', body: ['Trade'] } },
    errors: ['InvalidParameter', 'InvalidTradeFilter'],
  },
  'GET /api/v2/trades': {
    summary: 'Lists trades by page',
    tag: 'trades',
    query: {
      owner: text('Owner of the trades. Exactly one of owner and orderUid is required.'),
      orderUid: text('Order of the trades.'),
      offset: integer('Number of results to skip.'),
      limit: PAGE.limit,
    },
    success: { 200: { description: 'Newest first.', body: ['Trade'] } },
    errors: ['InvalidParameter', 'InvalidTradeFilter', 'InvalidLimit'],
  },
  'GET /api/v1/users/:user/total_surplus': {
    summary: 'Returns the total surplus of the trades of an account',
    tag: 'trades',
    success: { 200: { description: 'The sum in wei.', body: 'Surplus' } },
  },
  'GET /api/v1/auction': {
    summary: 'Returns the current auction: the funded open orders, with known native prices',
    tag: 'solvers',
    success: { 200: { description: 'The current auction.', body: 'Auction' } },
  },
  'GET /api/v1/auction/stream': {
    summary: 'Streams auctions: a complete one, then the difference to each later one',
    tag: 'solvers',
    success: {
      200: {
        description:
          'The data of an `auction` event is an Auction, that of a `delta` event its `id`, `base`, `block`, `size`, ' +
          '`prices`, `removed` and `added`. The id of an event resumes the stream (Last-Event-ID).',
        body: 'events',
      },
    },
    errors: ['InvalidParameter'],
  },
  'GET /api/v1/solver_competition/:auction_id': competition,
  'GET /api/v2/solver_competition/:auction_id': competition,
  'GET /api/v1/solver_competition/latest': latestCompetition,
  'GET /api/v2/solver_competition/latest': latestCompetition,
  'GET /api/v1/solver_competition/by_tx_hash/:hash': competitionOfTransaction,
  'GET /api/v2/solver_competition/by_tx_hash/:hash': competitionOfTransaction,
  'GET /restricted/api/v2/solver_competition/:auction_id': { ...competition, errors: ['NotFound', 'Forbidden'] },
  'POST /restricted/api/v1/competition': {
    summary: 'Records the competition of an auction. Requires the operator token: Authorization: Bearer <token>',
    tag: 'solvers',
    body: 'CompetitionRecord',
    success: {
      200: { description: 'The record replaces an earlier one.', body: 'Recorded' },
      201: { description: 'The competition is recorded.', body: 'Recorded' },
    },
    errors: ['Forbidden'],
  },
  'GET /restricted/api/v1/debug/order/:uid': {
    summary: 'Returns why an order is or is not settled. Requires the operator token: Authorization: Bearer <token>',
    tag: 'solvers',
    success: { 200: { description: 'The order, its place in the auction, and its trades.', body: 'OrderDebug' } },
    errors: ['NotFound', 'Forbidden'],
  },
  'POST /api/v1/quote': {
    summary: 'Requests a quote',
    tag: 'quotes',
    body: 'QuoteRequest',
    success: { 200: { description: 'The order to sign and its cost.', body: 'QuoteResponse' } },
    errors: QUOTE_RULES,
  },
  'POST /api/v1/quote/stream': {
    summary: 'Streams quotes: an event for each quote that is better than all before',
    tag: 'quotes',
    body: 'QuoteRequest',
    success: { 200: { description: 'The data of each event is a QuoteResponse.', body: 'events' } },
    errors: QUOTE_RULES,
  },
  'GET /api/v1/token/:token/native_price': {
    summary: 'Returns the native price of a token',
    tag: 'tokens',
    success: { 200: { description: 'The price.', body: 'NativePrice' } },
    errors: ['NoLiquidity', 'UnsupportedToken'],
  },
  'GET /api/v1/token/:token/metadata': {
    summary: 'Returns the metadata of a token',
    tag: 'tokens',
    success: { 200: { description: 'The metadata. Unknown members are null.', body: 'TokenMetadata' } },
  },
  'PUT /api/v1/app_data': putDocument,
  'PUT /api/v1/app_data/:hash': putDocument,
  'GET /api/v1/app_data/:hash': {
    summary: 'Returns an app-data document',
    tag: 'app data',
    success: { 200: { description: 'The document, byte for byte as it was hashed.', body: 'AppDataDocument' } },
    errors: ['NotFound'],
  },
  'GET /api/v1/version': {
    summary: 'Returns the package version and the domain',
    tag: 'server',
    success: { 200: { description: 'Plain text.', body: 'text' } },
  },
  'GET /api/v1/ready': ready,
  'GET /ready': ready,
  'GET /live': {
    summary: 'Responds while the event loop runs',
    tag: 'server',
    success: { 200: { description: 'The process is alive.', body: 'Liveness' } },
  },
  'GET /': {
    summary: 'Returns the served books',
    tag: 'server',
    success: { 200: { description: 'The books and their domains.', body: 'Overview' } },
  },
  'GET /api/v1/orders/stream': {
    summary: 'Streams changes of orders',
    tag: 'orders',
    query: {
      owner: text('Owner of the orders.'),
      uid: text('UID of a single order.'),
      sellToken: text('Sell token of the orders.'),
      buyToken: text('Buy token of the orders.'),
      token: text('Token that the orders sell or buy.'),
      pair: text('Two tokens that the orders exchange, separated by a comma.'),
      kind: text('`sell` or `buy`.'),
      status: text('Status of the orders. An order that leaves it is not sent.'),
    },
    success: {
      200: {
        description: 'The data of each event is an Order. Its id resumes the stream (Last-Event-ID).',
        body: 'events',
      },
    },
    errors: ['InvalidParameter'],
  },
  'GET /accounts/:account/notifications/stream': {
    summary: 'Streams the notifications of an account',
    tag: 'accounts',
    success: { 200: { description: 'The data of each event is a Notification.', body: 'events' } },
  },
  'GET /accounts/:account/notifications': {
    summary: 'Lists the notifications of an account',
    tag: 'accounts',
    query: PAGE,
    success: { 200: { description: 'Newest first.', body: ['Notification'], headers: ['Link'] } },
  },
  'GET /accounts/:account/orders': {
    summary: 'Lists the orders of an account in all books',
    tag: 'accounts',
    query: HISTORY,
    success: {
      200: { description: 'Newest first.', body: ['AccountOrder'], file: 'text/csv', headers: ['Link'] },
    },
  },
  'GET /accounts/:account/trades': {
    summary: 'Lists the trades of an account in all books',
    tag: 'accounts',
    query: HISTORY,
    success: {
      200: { description: 'Newest first.', body: ['AccountTrade'], file: 'text/csv', headers: ['Link'] },
    },
  },
  'POST /accounts/:account/subscriptions': {
    summary: 'Creates a subscription of an account. Requires its signature',
    tag: 'accounts',
    body: 'SubscriptionRequest',
    success: {
      201: { description: 'The subscription: active, or pending until it is confirmed.', body: 'Subscription' },
    },
  },
  'GET /accounts/:account/subscriptions': {
    summary: 'Lists the subscriptions of an account. Requires Authorization: Subscription nonce=…',
    tag: 'accounts',
    success: { 200: { description: 'Oldest first.', body: ['Subscription'] } },
  },
  'DELETE /accounts/:account/subscriptions': {
    summary: 'Removes a subscription of an account. Requires Authorization: Subscription nonce=…',
    tag: 'accounts',
    query: { id: text('Id of the subscription.') },
    success: { 200: { description: 'The subscription is removed.', body: 'RemovedSubscription' } },
  },
  'GET /accounts/:account/subscriptions/confirm': {
    summary: 'Returns a page whose button confirms a subscription. Changes nothing',
    tag: 'accounts',
    query: { token: text('Token of the invitation.') },
    success: { 200: { description: 'The page.', body: 'page' } },
  },
  'POST /accounts/:account/subscriptions/confirm': {
    summary: 'Confirms a subscription with the token of an invitation',
    tag: 'accounts',
    query: { token: text('Token of the invitation. Valid once, for a day.') },
    success: { 200: { description: 'The subscription is active. A page for browsers.', body: 'Subscription' } },
  },
  'GET /accounts/:account/subscriptions/unsubscribe': {
    summary: 'Returns a page whose button removes a subscription. Changes nothing',
    tag: 'accounts',
    query: UNSUBSCRIBE,
    success: { 200: { description: 'The page.', body: 'page' } },
  },
  'POST /accounts/:account/subscriptions/unsubscribe': {
    summary: 'Removes a subscription with the token that its messages contain (RFC 8058)',
    tag: 'accounts',
    query: UNSUBSCRIBE,
    success: { 200: { description: 'The subscription is removed. A page for browsers.', body: 'RemovedSubscription' } },
  },
  'POST /affiliate/:address': {
    summary: 'Registers the affiliate code of the wallet that signed it',
    tag: 'accounts',
    body: 'AffiliateRegistration',
    success: { 201: { description: 'The code is registered.', body: 'AffiliateCode' } },
  },
  'GET /affiliate/:address': {
    summary: 'Returns the affiliate code of a wallet',
    tag: 'accounts',
    success: { 200: { description: 'The code.', body: 'AffiliateTerms' } },
  },
  'GET /ref-codes/:code': {
    summary: 'Returns the terms of an affiliate code for traders',
    tag: 'accounts',
    success: { 200: { description: 'The code exists.', body: 'AffiliateTerms' } },
  },
  'GET /affiliate/affiliate-stats/:address': statistics('Returns the statistics of an affiliate'),
  'GET /affiliate/trader-stats/:address': statistics('Returns the statistics of a referred trader'),
  'GET /affiliate/trader-activity/:address': {
    ...statistics('Lists the trades of a referred trader'),
    query: { format: HISTORY.format },
    success: {
      200: { description: 'The newest trades; all of them in CSV.', body: 'AffiliateStatistics', file: 'text/csv' },
    },
  },
  'GET /:chainId/tokens/:token/usdPrice': {
    summary: 'Returns the price of a token in US dollars',
    tag: 'tokens',
    success: { 200: { description: 'The price.', body: 'UsdPrice' } },
  },
  'GET /:chainId/tokens/:token/details': {
    summary: 'Returns the metadata of a token',
    tag: 'tokens',
    success: { 200: { description: 'The metadata. Unknown members are absent.', body: 'TokenDetails' } },
  },
  'POST /:chainId/tokens/details': {
    summary: 'Returns the metadata of up to 100 tokens',
    tag: 'tokens',
    body: 'TokenAddresses',
    success: { 200: { description: 'In request order, without unknown tokens.', body: ['TokenDetails'] } },
  },
  'GET /:chainId/tokens/:token/topHolders': {
    summary: 'Returns the largest holders of a token',
    tag: 'tokens',
    success: { 200: { description: 'The largest first.', body: ['TokenHolder'] } },
  },
  'GET /:chainId/markets/:base-:quote/slippageTolerance': {
    summary: 'Returns the suggested slippage tolerance of a pair',
    tag: 'tokens',
    query: {
      orderKind: text('`sell` or `buy`. Malformed parameters of the query are ignored.'),
      sellAmount: text('Atoms to sell, decimal.'),
      buyAmount: text('Atoms to buy, decimal.'),
      expirationTimeInSeconds: integer('Seconds until the order expires.'),
      partiallyFillable: text('Ignored.'),
      feeAmount: text('Ignored.'),
    },
    success: { 200: { description: 'The tolerance in basis points.', body: 'SlippageTolerance' } },
  },
  'POST /:chainId/yield/pools': {
    summary: 'Returns liquidity pools with their yield',
    tag: 'tokens',
    body: 'PoolAddresses',
    success: { 200: { description: 'At most 500. Without addresses, the largest pools.', body: ['Pool'] } },
  },
  'GET /:chainId/yield/pools-average-apr': {
    summary: 'Returns the mean yield of each project',
    tag: 'tokens',
    success: { 200: { description: 'Percent per year by project.', body: 'AverageApr' } },
  },
  'POST /:chainId/simulation/simulateBundle': {
    summary: 'Simulates a bundle of up to 20 transactions',
    tag: 'tokens',
    body: 'SimulationBundle',
    success: { 200: { description: 'A result for each transaction, in order.', body: ['SimulatedTransaction'] } },
  },
  'GET /:chainId/accounts/:account/balances': {
    summary: 'Returns the token balances of an account',
    tag: 'accounts',
    query: TOKENS,
    success: {
      200: { description: 'Each token once. Addresses that are not a token are left out.', body: ['TokenBalance'] },
    },
  },
  'GET /:chainId/accounts/:account/balances/sse': {
    summary: 'Streams the token balances of an account and their changes',
    tag: 'accounts',
    query: TOKENS,
    success: {
      200: { description: '`initial_balances`, then `balance_update`, `unavailable` and `ping`.', body: 'events' },
    },
  },
};
