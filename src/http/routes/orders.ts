import type { OrderCreation } from '../../admission/creation.ts';
import { countRows, type ReadOptions } from '../../concurrency/abort.ts';
import { lazy } from '../../concurrency/lifecycle.ts';
import { OrderBookError } from '../../errors.ts';
import type { EncodedPage, OrderCancellation, OrderCancellations } from '../../orders/index.ts';
import { createTooManyUidsError, MAX_UIDS } from '../../orders/index.ts';
import { formatValue } from '../../protocol/format-value.ts';
import { parseUid } from '../../protocol/hex.ts';
import { formatCursor, type ListQuery } from '../../records/results.ts';
import { assertKnownFilters, requireUid } from '../../validation/options.ts';
import { READ, type RouteCost, readCost, readCount, resumedRows, STORE_READ, unknownRows, WRITE } from '../cost.ts';
import { type ApiResponse, type BodySize, jsonResponse, jsonText, matchesEtag, rejectionResponse } from '../message.ts';
import { nextPageLink } from '../page-link.ts';
import { queryInteger, queryText } from '../query.ts';
import { BODY_LIMIT, documentBodyLimit, LIST_BODY_LIMIT, type Route, toStreamOptions } from '../route.ts';

/** Cost of a listing: orders of the page, and orders that its filter or its offset skips. */
const LISTING_COST = /* @__PURE__ */ readCost(
  'orders',
  'page size; entries that the filter or `offset` skips',
  (query) => {
    const isSearch = ['status', 'sellToken', 'buyToken'].some((name) => query.has(name));
    return isSearch ? undefined : readCount(query, 'limit', 1) + readCount(query, 'offset', 0) / SKIPPED_PER_ROW;
  },
);

/** Skipped entries that cost as much as one order. */
const SKIPPED_PER_ROW = 8;

/** Cost of `by_uids`, which has at most 128 orders. */
const BY_UIDS_COST: RouteCost = { ...READ, growth: 'number of UIDs, at most 128' };

/** Cost of signed data. The domain of a wrong signature is searched with a recovery for each known chain. */
const SIGNED_COST: RouteCost = { ...WRITE, rowsPerToken: 1, tokens: '1; 3 if another account has signed' };

/** Responds with the rejection of signed data, and charges the search for the domain of its signature. */
function rejectSigned(error: OrderBookError, work: ReadOptions): ApiResponse {
  if (error.data?.['recovered'] !== undefined) countRows(work, 3);
  return rejectionResponse(error);
}

/** Submits a signed order. Responds 201 with the UID as a JSON string. */
const submitOrder: Route = {
  method: 'POST',
  path: '/api/v1/orders',
  cost: SIGNED_COST,
  bodyLimit: documentBodyLimit,
  async handle({ book, body, client, work, request, beforeSubmit }) {
    await beforeSubmit?.(body, { request });
    const options = { client: client(), ...(work.signal && { signal: work.signal }) };
    const result = await book.orders.submit(body as OrderCreation, options); // `submit` validates the shape
    return result.status === 'accepted' ? jsonResponse(201, result.uid) : rejectSigned(result.error, work);
  },
};

/** Filters of the listing of all orders. */
const LIST_FILTERS = ['status', 'sellToken', 'buyToken', 'owner', 'cursor', 'limit'] as const;

/** Lists orders by status, token and owner, newest first. */
const listOrders: Route = {
  method: 'GET',
  path: '/api/v1/orders',
  cost: LISTING_COST,
  async handle({ book, query, work, request: { allocate } }) {
    assertKnownFilters(query.keys(), LIST_FILTERS);
    const filter = listingQuery(query, LIST_FILTERS);
    return pageResponse(await book.orders.rendered.listBytes(filter, { ...work, allocate }), query);
  },
};

/** Lists the orders of an account, newest first, by offset or by cursor. */
const listAccountOrders: Route = {
  method: 'GET',
  path: '/api/v1/account/:owner/orders',
  cost: LISTING_COST,
  async handle({ book, param, query, work, request: { allocate } }) {
    const filter = { ...listingQuery(query, ['offset', 'limit', 'cursor']), owner: param('owner') };
    return pageResponse(await book.orders.rendered.listBytes(filter, { ...work, allocate }), query);
  },
};

/** Writes JSON arrays. Loaded on first use. */
export const jsonArray = lazy(() => import('../json-array.ts'));

/** Lists the orders that a transaction traded: each once, in the order of its trades. */
const listTransactionOrders: Route = {
  method: 'GET',
  path: '/api/v1/transactions/:hash/orders',
  cost: readCost('orders', 'trades of the transaction', unknownRows),
  async handle({ book, param, work }) {
    const orders = await book.orders.rendered.listByTransaction(param('hash'), work);
    return jsonText(200, await jsonArray.use(({ renderTexts }) => renderTexts(orders, work)));
  },
};

/** Returns up to 128 orders by UID. Unknown UIDs are left out. */
const getOrdersByUids: Route = {
  method: 'POST',
  path: '/api/v1/orders/by_uids',
  cost: BY_UIDS_COST,
  bodyLimit: LIST_BODY_LIMIT,
  checkBody: checkUidList,
  async handle({ book, body, work, request: { allocate } }) {
    const uids = requireUidList(body);
    const read = book.orders.rendered.getManyBytes(uids, { ...work, allocate });
    const elements = await read.catch((error: unknown) => {
      // The read validates each UID, which costs no second pass. Only a failed read searches for the invalid one.
      throw findInvalidUid(uids) ?? error;
    });
    return jsonText(200, elements);
  },
};

/** Returns an order with a strong entity tag. Responds 304 if the client has this version. */
const getOrder: Route = {
  method: 'GET',
  path: '/api/v1/orders/:uid',
  cost: STORE_READ,
  async handle({ book, param, request }) {
    const uid = param('uid');
    const order = await book.orders.rendered.get(uid);
    if (order === undefined) throw new OrderBookError('NotFound', 'there is no order with this UID', { uid });
    const headers = { etag: order.etag, 'cache-control': 'no-cache' };
    if (matchesEtag(order.etag, request.header('if-none-match'))) return { status: 304, headers };
    return jsonText(200, order.json, headers);
  },
};

/** Returns the status of an order in the solver competition. */
const getOrderStatus: Route = {
  method: 'GET',
  path: '/api/v1/orders/:uid/status',
  cost: STORE_READ,
  async handle({ book, param }) {
    return jsonResponse(200, await book.orders.competitionStatus(param('uid')));
  },
};

/** Returns what is known of an order with regard to the book behind this one. */
const getUpstreamState: Route = {
  method: 'GET',
  path: '/api/v1/orders/:uid/upstream',
  cost: STORE_READ,
  async handle({ book, param }) {
    const uid = requireUid(param('uid'));
    const state = await book.upstream?.order(uid);
    if (state !== undefined) return jsonResponse(200, state);
    const reason = book.upstream === undefined ? 'this book has no upstream' : 'there is no order with this UID';
    throw new OrderBookError('NotFound', reason, { uid });
  },
};

/** Cancels one order, by a signature over the single type or over a list with one UID. */
const cancelOrder: Route = {
  method: 'DELETE',
  path: '/api/v1/orders/:uid',
  cost: SIGNED_COST,
  bodyLimit: BODY_LIMIT,
  async handle({ book, body, param, work }) {
    const orderUid = requireUid(param('uid'));
    const members = typeof body === 'object' && body !== null ? body : {};
    const result = await book.orders.cancel({ ...members, orderUid } as OrderCancellation); // `cancel` validates
    return result.status === 'cancelled' ? jsonResponse(200, 'Cancelled') : rejectSigned(result.error, work);
  },
};

/** Cancels up to 128 orders with one signature: all or none. */
const cancelOrders: Route = {
  method: 'DELETE',
  path: '/api/v1/orders',
  cost: SIGNED_COST,
  bodyLimit: LIST_BODY_LIMIT,
  checkBody: checkUidList,
  async handle({ book, body, work }) {
    const result = await book.orders.cancel(omitOrderUid(body));
    return result.status === 'cancelled' ? jsonResponse(200, 'Cancelled') : rejectSigned(result.error, work);
  },
};

/** Streams the changes of an owner's orders, of one order, or of all orders. Resumes after `Last-Event-ID`. */
const streamOrders: Route = {
  method: 'GET',
  path: '/api/v1/orders/stream',
  cost: readCost(
    'log entries since `Last-Event-ID`',
    'log entries since `Last-Event-ID`, at most `resumeLimit`',
    resumedRows,
  ),
  stream: true,
  async handle({ book, query, request, work }) {
    const [{ lastEventId, resumableEventStream }, { readStreamFilter }] = await Promise.all([
      import('../sse.ts'),
      import('../stream-filter.ts'),
    ]);
    const filter = readStreamFilter(query);
    // Charged by its backlog: entries that do not concern the subscriber are read as well.
    const { meter: _, ...options } = toStreamOptions(request, lastEventId(request), work);
    const stream = await book.orders.rendered.stream(filter, options);
    countRows(work, stream.backlog);
    return resumableEventStream(stream, book.clock);
  },
};

export const ORDER_ROUTES: readonly Route[] = [
  submitOrder,
  listOrders,
  streamOrders,
  cancelOrders,
  getOrdersByUids,
  getOrder,
  cancelOrder,
  listAccountOrders,
  getOrderStatus,
  getUpstreamState,
  listTransactionOrders,
];

/**
 * Reads the filters that a route supports from a query string.
 *
 * @throws OrderBookError `InvalidParameter` if one occurs twice or is not a whole number where one is required.
 */
export function listingQuery(query: URLSearchParams, names: readonly (keyof ListQuery)[]): ListQuery {
  const filter: Record<string, string | number> = {};
  for (const name of names) {
    const value = name === 'offset' || name === 'limit' ? queryInteger(query, name) : queryText(query, name);
    if (value !== undefined) filter[name] = value;
  }
  return filter as ListQuery; // `list` validates the values
}

/** Creates the response of a page. */
function pageResponse({ bytes, next }: EncodedPage, query: URLSearchParams): ApiResponse {
  return jsonText(200, bytes, nextPageLink(query, next && formatCursor(next)));
}

/** Removes `orderUid`: this route takes lists only and ignores unknown members. */
function omitOrderUid(body: unknown): OrderCancellations {
  // `cancel` validates.
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body as OrderCancellations;
  const { orderUid: _, ...members } = body as OrderCancellations & { orderUid?: unknown }; // `cancel` validates
  return members;
}

/**
 * Rejects a list of UIDs before it is parsed, which takes 100 ms for the longest body. Up to `BODY_LIMIT` and
 * `COUNTED_COMMAS`, the parsed elements are counted.
 */
function checkUidList({ bytes, commas }: BodySize): void {
  if (commas > COUNTED_COMMAS || (bytes > BODY_LIMIT && commas >= MAX_UIDS)) throw createTooManyUidsError();
  if (bytes > BODY_LIMIT) {
    throw new OrderBookError('PayloadTooLarge', `the body is larger than ${BODY_LIMIT} bytes`, { limit: BODY_LIMIT });
  }
}

/** Commas of a list that is parsed and counted. A list of 128 UIDs has less than 150. */
const COUNTED_COMMAS = 1_000;

function requireUidList(body: unknown): string[] {
  if (!Array.isArray(body)) {
    throw new OrderBookError('InvalidBody', 'the body must be an array of order UIDs', { path: '' });
  }
  if (body.length > MAX_UIDS) throw createTooManyUidsError(body.length);
  return body;
}

function findInvalidUid(uids: readonly unknown[]): OrderBookError | undefined {
  const index = uids.findIndex((uid) => parseUid(uid) === undefined);
  if (index < 0) return undefined;
  const description = `${index}: must be 0x and 112 hex digits, got ${formatValue(uids[index])}`;
  return new OrderBookError('InvalidBody', description, { path: String(index) });
}
