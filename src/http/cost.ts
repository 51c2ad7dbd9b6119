import type { RequestKind } from '../ports/limiter.ts';
import type { ApiRequest } from './message.ts';
import { LAST_EVENT_ID } from './query.ts';

/**
 * The cost of a route, in tokens of the rate limit. One token pays for about a millisecond of work. The table in
 * docs/reference/costs.md is generated from these declarations.
 */
export interface RouteCost {
  /** The bucket that pays. `free`: not limited. */
  readonly kind: RequestKind | 'free';
  /** Returns the tokens that a request costs before its work, without those of its body. Default: 1. */
  before?(request: ApiRequest): number;
  /**
   * Number of rows that one token pays for. The difference to the tokens that were taken before is charged or returned
   * after the response. Default: the tokens that were taken before are the cost.
   */
  readonly rowsPerToken?: number;
  /** Bytes of a body that one further token pays for. Default: 16 KiB. */
  readonly bytesPerToken?: number;
  /**
   * Whether a read has no body and waits for nothing but the store. A client has a few of them at the same time, so
   * that those of others find a connection of the database. Default: false.
   */
  readonly isStoreRead?: boolean;
  /** Description of the tokens for people. Default: "1". */
  readonly tokens?: string;
  /** The factors that increase the work of a request, for the documentation. Default: nothing. */
  readonly growth?: string;
}

/** Orders, trades or log entries that one token pays for. */
export const ROWS_PER_TOKEN = 128;

/** Bytes of a body that one token pays for. Parsing 16 KiB takes up to two milliseconds. */
export const BYTES_PER_TOKEN = 16 * 1024;

/** Tokens that are taken before a read whose rows do not follow from its query. */
export const UNKNOWN_ROWS = 4;

/** Largest number of tokens that is taken before a read. */
const MAX_BEFORE = 100;

/** A read of constant work. */
export const READ: RouteCost = { kind: 'read' };

/** A read of constant work that waits for nothing but the store. */
export const STORE_READ: RouteCost = { kind: 'read', isStoreRead: true };

/** A write of constant work. */
export const WRITE: RouteCost = { kind: 'write' };

/** A request that queries estimators or other paid services: charged as a write. */
export const ESTIMATE: RouteCost = { kind: 'write', growth: 'number of estimators' };

/** A request that is not limited. */
export const FREE: RouteCost = { kind: 'free' };

/**
 * Estimates the rows of a read before its work, so that many long reads at once are not admitted for a token each.
 * `undefined`: the rows do not follow from the request.
 */
export type EstimateRows = (query: URLSearchParams, request: ApiRequest) => number | undefined;

/** Estimates a read whose rows do not follow from its request. */
export const unknownRows: EstimateRows = () => undefined;

/** Estimates a read of few rows, or one whose rows are known only from its body. */
export const fewRows: EstimateRows = () => 1;

/** Estimates a stream: its rows are unknown if it resumes, and few otherwise. */
export const resumedRows: EstimateRows = (query, request) =>
  request.header('last-event-id') || query.get(LAST_EVENT_ID) ? undefined : 1;

/** Creates the cost of a read that is charged by rows. `rows` is their name in the plural. */
export function readCost(
  rows: string,
  growth: string,
  estimate: EstimateRows,
  rowsPerToken: number = ROWS_PER_TOKEN,
): RouteCost {
  return {
    kind: 'read',
    rowsPerToken,
    tokens: `1 per ${rowsPerToken} ${rows}`,
    growth,
    before(request) {
      const expected = estimate(request.query === '' ? NO_QUERY : new URLSearchParams(request.query), request);
      return expected === undefined ? UNKNOWN_ROWS : toTokens(expected, rowsPerToken);
    },
  };
}

const NO_QUERY = /* @__PURE__ */ new URLSearchParams();

function toTokens(rows: number, rowsPerToken: number): number {
  return Math.min(MAX_BEFORE, Math.max(1, Math.ceil(rows / rowsPerToken)));
}

/** Returns a number of a query, or a default if it is absent or not a whole number, which the route rejects. */
export function readCount(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : otherwise;
}
