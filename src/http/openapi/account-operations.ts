import { integer, type Operation, PAGE, text } from './operation.ts';

/** The response to a link with a wrong token. */
const LINK_NOT_VALID = {
  description: 'The token is unknown or expired. A page for browsers.',
  body: 'Message',
  file: 'text/html',
} as const;

const HISTORY = {
  limit: integer('Page size, 1 to 1000. Default: 100; all rows in CSV.'),
  cursor: PAGE.cursor,
  format: text('`json` or `csv`. Default: by the `Accept` header, otherwise `json`.'),
};
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

/** The documentation of the routes of the account interface, by method and path. */
export const ACCOUNT_OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /accounts/:account/notifications/stream': {
    summary: 'Streams the notifications of an account',
    tag: 'accounts',
    success: { 200: { description: 'The data of each event is a Notification.', body: 'events' } },
  },
  'GET /accounts/:account/notifications': {
    summary: 'Lists the notifications of an account',
    tag: 'accounts',
    query: { ...PAGE, limit: integer('Page size, 1 to 1000. Default: all notifications.') },
    success: { 200: { description: 'Newest first.', body: ['Notification'], headers: ['Link'] } },
  },
  'GET /notification-list/:account': {
    summary: 'Lists the newest 100 notifications of an account, in the form of a content system',
    tag: 'accounts',
    success: { 200: { description: 'Newest first.', body: ['ContentNotification'] } },
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
    success: {
      200: { description: 'The subscription is active. A page for browsers.', body: 'Subscription', file: 'text/html' },
      404: LINK_NOT_VALID,
    },
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
    success: {
      200: {
        description: 'The subscription is removed. A page for browsers.',
        body: 'RemovedSubscription',
        file: 'text/html',
      },
      404: LINK_NOT_VALID,
    },
  },
  'GET /restricted/deliveries': {
    summary: 'Lists the deliveries of notifications in a state, for operators',
    tag: 'accounts',
    query: {
      state: text('`pending`, `delivered`, `dead` or `dropped`. Default: `dead`.'),
      after: integer('Only deliveries with a larger `seq`. Default: 0.'),
      limit: integer('Page size, 1 to 1000. Default: 100.'),
    },
    success: { 200: { description: 'Oldest first.', body: ['Delivery'] } },
  },
  'POST /restricted/deliveries/replay': {
    summary: 'Makes dead deliveries pending again, for operators',
    tag: 'accounts',
    query: { seq: text('The `seq` of the deliveries, separated by commas, at most 1000. Default: all dead ones.') },
    success: { 200: { description: 'The deliveries are pending again.', body: 'ReplayedDeliveries' } },
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
  'GET /:chainId/markets/:base-:quote/volatilityDetails': {
    summary: 'Returns the prices of both tokens in the last day, and their volatility',
    tag: 'tokens',
    success: { 200: { description: 'The data that a tolerance is computed from.', body: 'VolatilityDetails' } },
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
  'GET /:chainId/address/:address/balances': {
    summary: 'Returns the balances of an account in all tokens',
    tag: 'accounts',
    query: { ignoreCache: text('`true`: the response must not be cached.') },
    success: { 200: { description: 'Balances above 0.', body: 'TokenBalances' } },
  },
  'GET /about': {
    summary: 'Returns the name and the version of the software',
    tag: 'server',
    success: { 200: { description: 'Name and version.', body: 'About' } },
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
