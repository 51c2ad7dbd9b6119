import type { RequestKind } from '../ports/limiter.ts';
import type { ApiRequest } from './message.ts';

/**
 * The cost of a route, in tokens of the rate limit. One token pays for about a millisecond of work. The table in
 * docs/reference/costs.md is generated from these declarations.
 */
export interface RouteCost {
  /** The bucket that pays. `free`: not limited. */
  readonly kind: RequestKind | 'free';
  /** Returns the tokens that a request costs before its work. Default: 1. */
  before?(request: ApiRequest): number;
  /** Number of rows that one token pays for. Further rows are charged after the response. Default: not charged. */
  readonly rowsPerToken?: number;
  /** Description of the tokens for people. Default: "1". */
  readonly tokens?: string;
  /** The factors that increase the work of a request, for the documentation. Default: nothing. */
  readonly growth?: string;
}

/** Orders, trades or log entries that one token pays for. */
export const ROWS_PER_TOKEN = 128;

/** A read of constant work. */
export const READ: RouteCost = { kind: 'read' };

/** A write of constant work. */
export const WRITE: RouteCost = { kind: 'write' };

/** A request that queries estimators or other paid services: charged as a write. */
export const ESTIMATE: RouteCost = { kind: 'write', growth: 'number of estimators' };

/** A request that is not limited. */
export const FREE: RouteCost = { kind: 'free' };

/** Creates the cost of a read that is charged by rows. */
export function readCost(rows: string, growth: string, rowsPerToken: number = ROWS_PER_TOKEN): RouteCost {
  return { kind: 'read', rowsPerToken, tokens: `1 per ${rowsPerToken} ${rows}`, growth };
}
