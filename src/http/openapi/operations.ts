import type { ErrorCode } from '../../errors.ts';
import type { SchemaName } from './schemas.ts';

/** What a success looks like. */
export interface Success {
  readonly description: string;
  /** JSON of this schema, a list of it, a string of it, text, or a stream of events. */
  readonly body: SchemaName | readonly [SchemaName] | 'text' | 'events' | 'nothing';
  readonly headers?: readonly string[];
}

/** What a route's data do not say: what it means, what it takes, what it answers. */
export interface Operation {
  readonly summary: string;
  readonly tag: 'orders' | 'quotes' | 'trades' | 'app data' | 'tokens' | 'solvers' | 'server' | 'accounts';
  /** Query parameters by name. A number is a whole one. */
  readonly query?: Readonly<Record<string, { readonly type: 'string' | 'integer'; readonly description: string }>>;
  readonly body?: SchemaName;
  readonly success: Readonly<Record<number, Success>>;
  /** The codes that are this route's own; those that any route may answer with are added. */
  readonly errors?: readonly ErrorCode[];
}

const text = (description: string) => ({ type: 'string', description }) as const;
const integer = (description: string) => ({ type: 'integer', description }) as const;

const PAGE = {
  limit: integer('How many, 1 to 1000; 10 unless given.'),
  cursor: text('Where the page begins, as the `Link` of the page before says.'),
};
const ORDERS_PAGE: Success = {
  description: 'Orders, newest first. `Link` has the address of the next page, when there is one.',
  body: ['Order'],
  headers: ['Link'],
};
const CANCELLED: Success = { description: 'All of them are cancelled.', body: 'Cancelled' };
const NAMES_ORDER = ['InvalidSignature', 'WrongOwner', 'OrderNotFound', 'OnChainOrder'] as const;
const CANCELLATION: readonly ErrorCode[] = [
  ...NAMES_ORDER,
  ...(['OrderFullyExecuted', 'AlreadyCancelled', 'OrderExpired'] as const),
];
const APP_DATA: readonly ErrorCode[] = ['InvalidAppData', 'AppDataHashMismatch'];
const ORDER_RULES: readonly ErrorCode[] = [
  ...(['NonZeroFee', 'InvalidSignature', 'MissingFrom', 'AppdataFromMismatch', 'UnsupportedSigningScheme'] as const),
  ...(['DuplicatedOrder', 'ZeroAmount', 'SellAmountOverflow', 'BuyAmountOverflow', 'OrderExpired'] as const),
  ...(['InsufficientValidTo', 'ExcessiveValidTo', 'InvalidValidFrom', 'SameBuyAndSellToken'] as const),
  ...(['InvalidNativeSellToken', 'UnsupportedToken', 'InsufficientBalance', 'InsufficientAllowance'] as const),
  ...(['TransferSimulationFailed', 'TooManyLimitOrders', 'OldOrderActivelyBidOn', 'OrderNotFound'] as const),
  ...([
    'WrongOwner',
    'OnChainOrder',
    'OrderFullyExecuted',
    'AlreadyCancelled',
    'Forbidden',
    'ChainUnavailable',
  ] as const),
  ...APP_DATA,
];
const QUOTE_RULES: readonly ErrorCode[] = [
  ...(['InvalidParameter', 'NoLiquidity', 'SellAmountDoesNotCoverFee', 'UnsupportedToken'] as const),
  ...(['SameBuyAndSellToken', 'InvalidNativeSellToken', 'UnsupportedSigningScheme', 'AppdataFromMismatch'] as const),
  ...(['InsufficientValidTo', 'ExcessiveValidTo', 'OrderExpired', 'InvalidValidFrom', 'Forbidden'] as const),
  ...(['ChainUnavailable', 'SellAmountOverflow', 'BuyAmountOverflow', 'ZeroAmount'] as const),
  ...APP_DATA,
];
const TOKENS = { tokens: text('Addresses between commas, 100 at most. Required.') };
const statistics = (summary: string): Operation => ({
  summary,
  tag: 'accounts',
  success: { 200: { description: 'As the host’s source says.', body: 'AffiliateStatistics' } },
});
const ready: Operation = {
  summary: 'Says whether it can serve',
  tag: 'server',
  success: { 200: { description: 'It can.', body: 'Readiness' } },
};
const competition: Operation = {
  summary: 'Says how solvers did in an auction',
  tag: 'solvers',
  success: { 200: { description: 'Solutions, worst first.', body: 'Competition' } },
  errors: ['NotFound'],
};
const latestCompetition: Operation = { ...competition, summary: 'Says how solvers did in the highest auction' };
const competitionOfTransaction: Operation = {
  ...competition,
  summary: 'Says how solvers did in the auction that a transaction has settled',
};
const putDocument: Operation = {
  summary: 'Uploads an app-data document',
  tag: 'app data',
  body: 'AppDataDocument',
  success: {
    200: { description: 'It was known. Its hash.', body: 'AppDataHash' },
    201: { description: 'It is stored. Its hash.', body: 'AppDataHash' },
  },
  errors: APP_DATA,
};

/** What is to be said of each route, by its method and path. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /api/v1/orders': {
    summary: 'Submits a signed order',
    tag: 'orders',
    body: 'OrderCreation',
    success: { 201: { description: 'It is stored, durably. Its UID.', body: 'UID' } },
    errors: ORDER_RULES,
  },
  'GET /api/v1/orders': {
    summary: 'Finds orders',
    tag: 'orders',
    query: {
      status: text('Only orders of this status.'),
      sellToken: text('Only orders that sell this token.'),
      buyToken: text('Only orders that buy this token.'),
      owner: text('Only orders of this owner.'),
      ...PAGE,
    },
    success: { 200: ORDERS_PAGE },
    errors: ['InvalidParameter'],
  },
  'DELETE /api/v1/orders': {
    summary: 'Cancels up to 128 orders with one signature, all of them or none',
    tag: 'orders',
    body: 'OrderCancellations',
    success: { 200: CANCELLED },
    errors: ['TooManyOrderUids', ...CANCELLATION],
  },
  'POST /api/v1/orders/by_uids': {
    summary: 'Reads up to 128 orders. Those that do not exist are absent',
    tag: 'orders',
    body: 'UIDs',
    success: { 200: { description: 'In no particular order.', body: ['OrderResult'] } },
    errors: ['TooManyOrderUids'],
  },
  'GET /api/v1/orders/:uid': {
    summary: 'Reads an order',
    tag: 'orders',
    success: {
      200: { description: 'The order.', body: 'Order', headers: ['ETag'] },
      304: { description: 'It is still what If-None-Match names.', body: 'nothing', headers: ['ETag'] },
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
    query: { offset: integer('How many to skip.'), ...PAGE },
    success: { 200: ORDERS_PAGE },
  },
  'GET /api/v1/orders/:uid/status': {
    summary: 'Says how an order fares in the competition of solvers',
    tag: 'orders',
    success: { 200: { description: 'Its place.', body: 'CompetitionStatus' } },
    errors: ['NotFound'],
  },
  'GET /api/v1/transactions/:hash/orders': {
    summary: 'Lists the orders that a transaction has traded',
    tag: 'trades',
    success: { 200: { description: 'In the order of their trades.', body: ['Order'] } },
  },
  'GET /api/v1/trades': {
    summary: 'Lists trades, all at once',
    tag: 'trades',
    query: { owner: text('Of this account; or'), orderUid: text('of this order.') },
    success: { 200: { description: 'Newest first.', body: ['Trade'] } },
    errors: ['InvalidParameter'],
  },
  'GET /api/v2/trades': {
    summary: 'Lists trades, a page at a time',
    tag: 'trades',
    query: {
      owner: text('Of this account; or'),
      orderUid: text('of this order.'),
      offset: integer('How many to skip.'),
      limit: PAGE.limit,
    },
    success: { 200: { description: 'Newest first.', body: ['Trade'] } },
    errors: ['InvalidParameter'],
  },
  'GET /api/v1/users/:user/total_surplus': {
    summary: 'Sums up what the trades of an account have brought beyond what was asked for',
    tag: 'trades',
    success: { 200: { description: 'The sum.', body: 'Surplus' } },
  },
  'GET /api/v1/auction': {
    summary: 'Lists what solvers compete for: the open orders that can be paid for, with prices where they are known',
    tag: 'solvers',
    success: { 200: { description: 'The auction of this moment.', body: 'Auction' } },
  },
  'GET /api/v1/solver_competition/:auction_id': competition,
  'GET /api/v2/solver_competition/:auction_id': competition,
  'GET /api/v1/solver_competition/latest': latestCompetition,
  'GET /api/v2/solver_competition/latest': latestCompetition,
  'GET /api/v1/solver_competition/by_tx_hash/:hash': competitionOfTransaction,
  'GET /api/v2/solver_competition/by_tx_hash/:hash': competitionOfTransaction,
  'GET /restricted/api/v2/solver_competition/:auction_id': { ...competition, errors: ['NotFound', 'Forbidden'] },
  'POST /restricted/api/v1/competition': {
    summary: 'Records how solvers did in an auction, with the token of an operator: Authorization: Bearer <token>',
    tag: 'solvers',
    body: 'CompetitionRecord',
    success: {
      200: { description: 'It was known, and is what was sent now.', body: 'Recorded' },
      201: { description: 'It is recorded.', body: 'Recorded' },
    },
    errors: ['Forbidden'],
  },
  'POST /api/v1/quote': {
    summary: 'Requests a quote',
    tag: 'quotes',
    body: 'QuoteRequest',
    success: { 200: { description: 'What to sign, and what it would cost.', body: 'QuoteResponse' } },
    errors: QUOTE_RULES,
  },
  'POST /api/v1/quote/stream': {
    summary: 'Requests quotes as they come in: an event for each that is better than all before it',
    tag: 'quotes',
    body: 'QuoteRequest',
    success: { 200: { description: 'Each event’s data is a QuoteResponse.', body: 'events' } },
    errors: QUOTE_RULES,
  },
  'GET /api/v1/token/:token/native_price': {
    summary: 'Says what a token is worth',
    tag: 'tokens',
    success: { 200: { description: 'Its price.', body: 'NativePrice' } },
    errors: ['NoLiquidity', 'UnsupportedToken'],
  },
  'GET /api/v1/token/:token/metadata': {
    summary: 'Says what is known of a token',
    tag: 'tokens',
    success: { 200: { description: 'Null where nothing is.', body: 'TokenMetadata' } },
  },
  'PUT /api/v1/app_data': putDocument,
  'PUT /api/v1/app_data/:hash': putDocument,
  'GET /api/v1/app_data/:hash': {
    summary: 'Reads an app-data document',
    tag: 'app data',
    success: { 200: { description: 'The document, exactly as it was hashed.', body: 'AppDataDocument' } },
    errors: ['NotFound'],
  },
  'GET /api/v1/version': {
    summary: 'Says which version serves which domain',
    tag: 'server',
    success: { 200: { description: 'In words.', body: 'text' } },
  },
  'GET /api/v1/ready': ready,
  'GET /ready': ready,
  'GET /live': {
    summary: 'Answers as long as the event loop turns',
    tag: 'server',
    success: { 200: { description: 'It does.', body: 'Liveness' } },
  },
  'GET /': {
    summary: 'Says what is deployed',
    tag: 'server',
    success: { 200: { description: 'The books and their domains.', body: 'Overview' } },
  },
  'GET /api/v1/orders/stream': {
    summary: 'Streams what happens to orders',
    tag: 'orders',
    query: { owner: text('Only orders of this owner.'), uid: text('Only this order.') },
    success: {
      200: { description: 'Each event’s data is an Order, its id where Last-Event-ID resumes.', body: 'events' },
    },
    errors: ['InvalidParameter'],
  },
  'GET /accounts/:account/notifications/stream': {
    summary: 'Streams what an account is told',
    tag: 'accounts',
    success: { 200: { description: 'Each event’s data is a Notification.', body: 'events' } },
  },
  'GET /accounts/:account/notifications': {
    summary: 'Lists what an account was told',
    tag: 'accounts',
    query: PAGE,
    success: { 200: { description: 'Newest first.', body: ['Notification'], headers: ['Link'] } },
  },
  'POST /accounts/:account/subscriptions': {
    summary: 'Subscribes an account to a channel, by its signature',
    tag: 'accounts',
    body: 'SubscriptionRequest',
    success: { 201: { description: 'Active, or pending until it is confirmed.', body: 'Subscription' } },
  },
  'GET /accounts/:account/subscriptions': {
    summary: 'Lists the subscriptions of an account, by its signature: Authorization: Subscription nonce=…',
    tag: 'accounts',
    success: { 200: { description: 'Oldest first.', body: ['Subscription'] } },
  },
  'DELETE /accounts/:account/subscriptions': {
    summary: 'Removes a subscription of an account, by its signature: Authorization: Subscription nonce=…',
    tag: 'accounts',
    query: { id: text('Which one.') },
    success: { 200: { description: 'It is gone.', body: 'RemovedSubscription' } },
  },
  'GET /accounts/:account/subscriptions/confirm': {
    summary: 'Confirms a subscription: where the link of an e-mail leads',
    tag: 'accounts',
    query: { token: text('Good once, for a day.') },
    success: { 200: { description: 'It is active.', body: 'Subscription' } },
  },
  'POST /affiliate/:address': {
    summary: 'Binds a code to the wallet that has signed it',
    tag: 'accounts',
    body: 'AffiliateRegistration',
    success: { 201: { description: 'It is bound.', body: 'AffiliateCode' } },
  },
  'GET /affiliate/:address': {
    summary: 'Reads the code of a wallet',
    tag: 'accounts',
    success: { 200: { description: 'The code.', body: 'AffiliateTerms' } },
  },
  'GET /ref-codes/:code': {
    summary: 'Says what a code promises to those who trade with it',
    tag: 'accounts',
    success: { 200: { description: 'The code is bound.', body: 'AffiliateTerms' } },
  },
  'GET /affiliate/affiliate-stats/:address': statistics('Says what an affiliate has brought and earned'),
  'GET /affiliate/trader-stats/:address': statistics('Says what a trader who came by a code has traded and earned'),
  'GET /affiliate/trader-activity/:address': statistics('Lists the trades of such a trader'),
  'GET /:chainId/tokens/:token/usdPrice': {
    summary: 'Says what a token is worth in US dollars',
    tag: 'tokens',
    success: { 200: { description: 'Its price.', body: 'UsdPrice' } },
  },
  'GET /:chainId/accounts/:account/balances': {
    summary: 'Says what an account has of tokens',
    tag: 'accounts',
    query: TOKENS,
    success: { 200: { description: 'Each token once; what is no token is left out.', body: ['TokenBalance'] } },
  },
  'GET /:chainId/accounts/:account/balances/sse': {
    summary: 'Tells what an account has of tokens, and what changes',
    tag: 'accounts',
    query: TOKENS,
    success: {
      200: { description: '`initial_balances`, then `balance_update`, `unavailable` and `ping`.', body: 'events' },
    },
  },
};
