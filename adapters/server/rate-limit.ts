import type { RateLimitOptions } from 'intentbook';
import { tokenBuckets } from 'intentbook';

/** What one client may ask for. Five seconds' worth of requests may come at once. */
export interface RateLimit {
  /** Requests a second that read. */
  readonly reads: number;
  /** Requests a second that write or have quotes made. */
  readonly writes: number;
  /** Streams of events at once. */
  readonly streams: number;
}

/** More than a front end needs that shows a user a hundred orders; too little to be a burden. */
export const DEFAULT_RATE_LIMIT: RateLimit = { reads: 50, writes: 10, streams: 32 };

/** The limits that a server puts before its interfaces. */
export function toRateLimitOptions(
  rateLimit: RateLimit | 'off',
  trustedProxies: readonly string[] = [],
): RateLimitOptions {
  if (rateLimit === 'off') return { trustedProxies };
  const { reads, writes, streams } = rateLimit;
  const limiter = tokenBuckets({ reads: { perSecond: reads }, writes: { perSecond: writes }, streams });
  return { limiter, trustedProxies };
}
