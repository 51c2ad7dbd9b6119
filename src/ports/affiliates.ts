import type { Address } from '../protocol/hex.ts';

/** Travels with each question. */
export interface StatisticsCall {
  /** Aborted when the answer would come too late. */
  readonly signal: AbortSignal;
}

/** Values that JSON can carry. */
export type StatisticsAnswer = Readonly<Record<string, unknown>>;

/**
 * Where the read-only statistics of the affiliate programme come from, such as a service that analyses the chain. Each
 * function is optional: one that is not there is answered with 503. An answer is sent to the client as it is;
 * `undefined` is a 404. MUST reject when it could not find out.
 */
export interface AffiliateStatistics {
  /** What an affiliate has brought and earned: `GET /affiliate/affiliate-stats/{address}`. */
  affiliate?(address: Address, call: StatisticsCall): Promise<StatisticsAnswer | undefined>;
  /** What a trader who came by a code has traded and earned: `GET /affiliate/trader-stats/{address}`. */
  trader?(address: Address, call: StatisticsCall): Promise<StatisticsAnswer | undefined>;
  /** Such a trader's trades: `GET /affiliate/trader-activity/{address}`. */
  traderActivity?(address: Address, call: StatisticsCall): Promise<StatisticsAnswer | undefined>;
}
