import type { ConvertCodes } from '../admission/convert-codes.ts';
import { OrderBookError } from '../errors.ts';
import type { OrderCursor, OrderQuery } from '../ports/store.ts';
import type { Address } from '../protocol/hex.ts';
import type { ListQuery } from '../records/results.ts';
import { ORDER_STATUSES, type OrderStatus } from '../records/wire-order.ts';
import {
  assertKnownFilters,
  formatUnknownName,
  getFilterNames,
  invalidParameter,
  requireAddress,
  requireUid,
} from '../validation/options.ts';

const FILTERS = [
  'owner',
  'sellToken',
  'buyToken',
  'status',
  'cursor',
  'offset',
  'limit',
] as const satisfies readonly (keyof ListQuery)[];

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1000;
/** Maximum offset. A listing beyond it needs a cursor. */
const MAX_OFFSET = 1_000_000;

type ParsedQuery = Omit<OrderQuery, 'status'> & { readonly status?: OrderStatus };

/** Parses the filters of a listing like `parseListQuery`, with the codes of the profile. */
export async function parseQueryOfBook(query: ListQuery, convertCodes: ConvertCodes): Promise<ParsedQuery> {
  try {
    return parseListQuery(query);
  } catch (error) {
    throw error instanceof OrderBookError ? (await convertCodes({ error })).error : error;
  }
}

/**
 * Parses the filters of a listing.
 *
 * @throws OrderBookError `InvalidParameter` with the name of the filter and its valid values.
 */
export function parseListQuery(query: ListQuery): ParsedQuery {
  assertKnownFilters(getFilterNames(query), FILTERS);
  const { cursor, status } = query;
  return {
    ...parseAddressFilter(query, 'owner'),
    ...parseAddressFilter(query, 'sellToken'),
    ...parseAddressFilter(query, 'buyToken'),
    ...(status === undefined ? {} : { status: parseStatus(status) }),
    ...(cursor === undefined ? {} : { after: parseCursor(cursor) }),
    offset: parseInteger('offset', query.offset ?? 0, 0, MAX_OFFSET),
    limit: parseInteger('limit', query.limit ?? DEFAULT_LIMIT, 1, MAX_LIMIT),
  };
}

function parseCursor(text: string): OrderCursor {
  const [, date, id] = /^(\d{1,15})-(0x[0-9a-fA-F]{112})$/.exec(text) ?? [];
  if (date === undefined || id === undefined) throw invalidParameter('cursor', 'must be the `next` value of a page');
  return { creationDate: Number(date), uid: requireUid(id) };
}

function parseAddressFilter<K extends 'owner' | 'sellToken' | 'buyToken'>(
  query: ListQuery,
  name: K,
): { [key in K]?: Address } {
  const text: string | undefined = query[name];
  if (text === undefined) return {};
  return { [name]: requireAddress(name, text) } as { [key in K]?: Address }; // a computed key widens to string
}

function parseStatus(text: string): OrderStatus {
  const status = ORDER_STATUSES.find((each) => each === text);
  if (status === undefined) throw invalidParameter('status', formatUnknownName('status', String(text), ORDER_STATUSES));
  return status;
}

function parseInteger(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  const { code, message, data } = invalidParameter(name, `must be an integer from ${min} to ${max}`);
  throw new OrderBookError(code, message, data, name === 'limit' ? 'limit' : undefined);
}
