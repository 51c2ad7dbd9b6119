import type { RateLimitOptions } from 'intentbook';
import { tokenBuckets } from 'intentbook';

/** Limits of one client. The burst is five seconds of requests. */
export interface RateLimit {
  /** Reading requests per second. */
  readonly reads: number;
  /** Writing and quoting requests per second. */
  readonly writes: number;
  /** Open event streams. */
  readonly streams: number;
}

/** More than a front end with a hundred orders per user needs. */
export const DEFAULT_RATE_LIMIT: RateLimit = { reads: 50, writes: 10, streams: 32 };

/** Creates the rate-limit options of a server's interfaces. */
export function toRateLimitOptions(
  rateLimit: RateLimit | 'off',
  trustedProxies: readonly string[] = [],
): RateLimitOptions {
  if (rateLimit === 'off') return { trustedProxies };
  const { reads, writes, streams } = rateLimit;
  const limiter = tokenBuckets({ reads: { perSecond: reads }, writes: { perSecond: writes }, streams });
  return { limiter, trustedProxies };
}
