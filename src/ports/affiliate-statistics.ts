import type { Address } from '../protocol/hex.ts';

/** The context of each statistics query. */
export interface StatisticsCall {
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
  /** Whether all trades are requested, for a file. Otherwise the newest suffice. Default: false. */
  readonly all?: boolean;
}

/** A JSON object. */
export type StatisticsResponse = Readonly<Record<string, unknown>>;

/**
 * Read-only statistics of the affiliate programme, such as those of a service that analyses the chain. Each function is
 * optional: if it is missing, the route responds with 503. A result is sent to the client unchanged; `undefined` yields
 * a 404. MUST reject if the query fails.
 */
export interface AffiliateStatistics {
  /** Returns the volume and earnings of an affiliate: `GET /affiliate/affiliate-stats/{address}`. */
  affiliate?(address: Address, call: StatisticsCall): Promise<StatisticsResponse | undefined>;
  /** Returns the volume and earnings of a trader with a code: `GET /affiliate/trader-stats/{address}`. */
  trader?(address: Address, call: StatisticsCall): Promise<StatisticsResponse | undefined>;
  /** Returns the trades of a trader with a code: `GET /affiliate/trader-activity/{address}`. */
  traderActivity?(address: Address, call: StatisticsCall): Promise<StatisticsResponse | undefined>;
}

/** The payouts that the operator has recorded. */
export interface PayoutSource {
  /**
   * Returns the sum of the payouts to an address in a role, in US dollars: a number or a decimal text. 0 without
   * payouts. MUST reject if the query fails.
   */
  paidOut(
    role: 'affiliate' | 'trader',
    address: Address,
    call: StatisticsCall,
  ): number | string | Promise<number | string>;
}
