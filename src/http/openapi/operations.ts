import type { ErrorCode } from '../../errors.ts';
import { ACCOUNT_OPERATIONS } from './account-operations.ts';
import { integer, type Operation, PAGE, type Success, text } from './operation.ts';

const ORDERS_PAGE: Success = {
  description: 'Orders, newest first. `Link` has the address of the next page, if there is one.',
  body: ['Order'],
  headers: ['Link'],
};
const TRADES_PAGE: Success = {
  description: 'Trades, newest first. `Link` has the address of the next page, if there is one.',
  body: ['Trade'],
  headers: ['Link'],
};
const NOT_MODIFIED: Success = {
  description: 'The client has this version (If-None-Match).',
  body: 'nothing',
  headers: ['ETag'],
};
const CANCELLED: Success = { description: 'All orders are cancelled.', body: 'Cancelled' };
const ORDER_LOOKUP = ['InvalidSignature', 'WrongOwner', 'OrderNotFound', 'OnChainOrder'] as const;
const CANCELLATION: readonly ErrorCode[] = [
  ...ORDER_LOOKUP,
  'OrderFullyExecuted',
  'AlreadyCancelled',
  'OrderExpired',
  'UpstreamUnavailable',
];
const APP_DATA: readonly ErrorCode[] = ['InvalidAppData', 'AppDataHashMismatch'];
const CREATION: readonly ErrorCode[] = [
  'NonZeroFee',
  'InvalidSignature',
  'MissingFrom',
  'AppdataFromMismatch',
  'SellAmountOverflow',
  'BuyAmountOverflow',
  ...APP_DATA,
];
const ORDER_RULES: readonly ErrorCode[] = [
  ...CREATION,
  'UnsupportedSigningScheme',
  'DuplicatedOrder',
  'ZeroAmount',
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
  'UpstreamUnavailable',
  'OutcomeUnknown',
];
const QUOTE_RULES: readonly ErrorCode[] = [
  'InvalidParameter',
  'NoLiquidity',
  'SellAmountDoesNotCoverFee',
  'QuoteNotVerified',
  'UnsupportedToken',
  'SameBuyAndSellToken',
  'InvalidNativeSellToken',
  'InsufficientValidTo',
  'ExcessiveValidTo',
  'OrderExpired',
  'InvalidValidFrom',
  'AppdataFromMismatch',
  'UnsupportedSigningScheme',
  'UnsupportedSellTokenSource',
  'UnsupportedBuyTokenDestination',
  'TooMuchGas',
  'Forbidden',
  'ChainUnavailable',
  'UpstreamUnavailable',
  ...APP_DATA,
];
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
      304: NOT_MODIFIED,
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
  'GET /api/v1/orders/:uid/upstream': {
    summary: 'Returns the state of an order with regard to the upstream',
    tag: 'orders',
    success: { 200: { description: 'The state.', body: 'UpstreamOrderState' } },
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
    success: { 200: { description: 'The newest 10,000 trades, newest first.', body: ['Trade'] } },
    errors: ['InvalidParameter', 'InvalidTradeFilter'],
  },
  'GET /api/v2/trades': {
    summary: 'Lists trades by page',
    tag: 'trades',
    query: {
      owner: text('Owner of the trades. Exactly one of owner and orderUid is required.'),
      orderUid: text('Order of the trades.'),
      offset: integer('Number of results to skip.'),
      ...PAGE,
    },
    success: { 200: TRADES_PAGE },
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
    success: {
      200: { description: 'The current auction.', body: 'Auction', headers: ['ETag'] },
      304: NOT_MODIFIED,
    },
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
  'GET /restricted/api/v1/debug/simulation/:uid': {
    summary: 'Simulates the settlement of an order. Requires the operator token: Authorization: Bearer <token>',
    tag: 'solvers',
    query: { block_number: integer('Block after which the order is settled. Default: the newest.') },
    success: { 200: { description: 'The transaction, and the reason of its revert.', body: 'OrderSimulation' } },
    errors: ['NotFound', 'Forbidden', 'MethodNotAllowed', 'ChainUnavailable'],
  },
  'POST /restricted/api/v1/debug/simulation': {
    summary: 'Simulates an order that is not stored. Requires the operator token: Authorization: Bearer <token>',
    tag: 'solvers',
    body: 'OrderSimulationRequest',
    success: { 200: { description: 'The transaction, and the reason of its revert.', body: 'OrderSimulation' } },
    errors: ['InvalidParameter', 'Forbidden', 'MethodNotAllowed', 'ChainUnavailable', ...CREATION],
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
        description:
          'The data of each event is an Order. Its id resumes the stream (Last-Event-ID, or lastEventId in the query).',
        body: 'events',
      },
    },
    errors: ['InvalidParameter'],
  },
  ...ACCOUNT_OPERATIONS,
};
