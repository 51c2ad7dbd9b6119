import { OrderBookError } from '../errors.ts';
import type { TradeChainEvent, TradeCursor, TradeFilter, TradeQuery } from '../ports/chain-store.ts';
import { UID_SIZE } from '../protocol/hex.ts';
import type { OrderTrade, TradeHistoryQuery, TradeListQuery } from '../records/results.ts';
import {
  assertKnownFilters,
  getFilterNames,
  invalidParameter,
  requireAddress,
  requireHex,
} from '../validation/options.ts';

const DEFAULT_PAGE = 10;
const LARGEST_PAGE = 1000;
const LARGEST_OFFSET = 1_000_000;

/** Parses a trade query. @throws OrderBookError `InvalidTradeFilter`, `InvalidLimit` or `InvalidParameter`. */
export function parseTradeQuery(query: TradeListQuery): TradeQuery {
  assertKnownFilters(getFilterNames(query), ['owner', 'orderUid', 'cursor', 'offset', 'limit']);
  const { owner, orderUid, cursor, offset, limit } = query;
  return {
    filter: parseTradeFilter(owner, orderUid),
    ...(cursor === undefined ? {} : { after: parseTradeCursor(cursor) }),
    offset: wholeNumber('offset', offset ?? 0, 0, LARGEST_OFFSET),
    limit: wholeNumber('limit', limit ?? DEFAULT_PAGE, 1, LARGEST_PAGE),
  };
}

/**
 * Parses the query of all trades of an order or an account, page by page.
 *
 * @throws OrderBookError `InvalidTradeFilter`, `InvalidLimit` or `InvalidParameter`.
 */
export function parseTradePagesQuery(query: Omit<TradeListQuery, 'offset' | 'cursor'>): TradeQuery {
  assertKnownFilters(getFilterNames(query), ['owner', 'orderUid', 'limit']);
  return { filter: parseTradeFilter(query.owner, query.orderUid), limit: parseTotal(query.limit) };
}

/** Parses the query of a history. @throws OrderBookError `InvalidLimit` or `InvalidParameter`. */
export function parseTradeHistoryQuery(query: TradeHistoryQuery): TradeQuery {
  assertKnownFilters(getFilterNames(query), ['owner', 'orderUid', 'after', 'limit']);
  const { owner, orderUid, after, limit } = query;
  const parsed = { filter: parseTradeFilter(owner, orderUid), limit: parseTotal(limit) };
  if (after === undefined) return parsed;
  const { blockNumber, logIndex } = Object(after) as Partial<TradeCursor>; // a value of JavaScript may be anything
  if (Number.isSafeInteger(blockNumber) && Number.isSafeInteger(logIndex)) return { ...parsed, after };
  throw invalidParameter('after', 'must have the whole numbers blockNumber and logIndex');
}

/** Formats a cursor from the last trade of a page: block number, then log index. It is opaque to clients. */
export function formatTradeCursor({ blockNumber, logIndex }: TradeCursor): string {
  return `${blockNumber}-${logIndex}`;
}

function parseTradeCursor(text: string): TradeCursor {
  const [, block, index] = /^(\d{1,15})-(\d{1,9})$/.exec(text) ?? [];
  if (block === undefined || index === undefined)
    throw invalidParameter('cursor', 'must be the `next` value of a page');
  return { blockNumber: Number(block), logIndex: Number(index) };
}

/** Parses the filter of a list of trades. @throws OrderBookError `InvalidTradeFilter` unless exactly one is given. */
function parseTradeFilter(owner: string | undefined, orderUid: string | undefined): TradeFilter {
  if ((owner === undefined) === (orderUid === undefined)) {
    throw new OrderBookError('InvalidTradeFilter', 'exactly one of owner and orderUid must be given', {
      parameter: 'owner',
    });
  }
  if (orderUid === undefined) return { account: requireAddress('owner', owner) };
  return { uid: requireHex('orderUid', orderUid, UID_SIZE) };
}

/** Converts a trade to its wire format. */
export function toOrderTrade(trade: TradeChainEvent): OrderTrade {
  const { blockNumber, logIndex, uid, owner, sellToken, buyToken, sellAmount, buyAmount, feeAmount } = trade;
  return {
    blockNumber,
    logIndex,
    orderUid: uid,
    buyAmount,
    sellAmount,
    sellAmountBeforeFees: String(BigInt(sellAmount) - BigInt(feeAmount)),
    owner,
    buyToken,
    sellToken,
    txHash: trade.transactionHash,
    executedProtocolFees: trade.protocolFees,
  };
}

/** Parses the maximum number of trades of all pages together. Default: all. */
const parseTotal = (limit: number | undefined): number =>
  limit === undefined ? Number.POSITIVE_INFINITY : wholeNumber('limit', limit, 1, Number.MAX_SAFE_INTEGER);

function wholeNumber(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  const description = `${name}: must be a whole number from ${least} to ${most}`;
  throw new OrderBookError(name === 'limit' ? 'InvalidLimit' : 'InvalidParameter', description, { parameter: name });
}
