import { type Limiter, type RateLimitOptions, tokenBuckets } from 'intentbook';
import { type ApiKey, type KeyCheck, toKeyClient } from './api-keys.ts';

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

/** Settings of the rate limit. */
export interface RateLimitSettings {
  readonly rateLimit: RateLimit | 'off';
  readonly trustedProxies?: readonly string[] | undefined;
  readonly apiKeys: readonly ApiKey[];
}

/** Creates the rate-limit options of a server's interfaces. */
export function toRateLimitOptions(
  { rateLimit, trustedProxies = [], apiKeys }: RateLimitSettings,
  checkKey: KeyCheck,
): RateLimitOptions {
  const options =
    apiKeys.length === 0 ? { trustedProxies } : { trustedProxies, identifyClient: createIdentity(checkKey) };
  if (rateLimit === 'off') return options;
  const { reads, writes, streams } = rateLimit;
  const shared = tokenBuckets({ reads: { perSecond: reads }, writes: { perSecond: writes }, streams });
  return { ...options, limiter: withBudgets(shared, apiKeys, rateLimit) };
}

function createIdentity(checkKey: KeyCheck): NonNullable<RateLimitOptions['identifyClient']> {
  return (request) => {
    const found = checkKey(request);
    return typeof found === 'object' ? found.client : undefined;
  };
}

/** Creates a limiter in which each key has a budget, and all other clients have that of `shared`. */
function withBudgets(shared: Limiter, apiKeys: readonly ApiKey[], rateLimit: RateLimit): Limiter {
  if (apiKeys.length === 0) return shared;
  const budgets = new Map(
    apiKeys.map(({ name, reads, writes, streams = rateLimit.streams }) => {
      const limiter = tokenBuckets({
        reads: toRate(reads ?? { perSecond: rateLimit.reads }),
        writes: toRate(writes ?? { perSecond: rateLimit.writes }),
        streams,
      });
      return [toKeyClient(name), limiter];
    }),
  );
  const find = (client: string) => budgets.get(client) ?? shared;
  return {
    take: (client, kind, tokens) => find(client).take(client, kind, tokens),
    charge: (client, kind, tokens) => find(client).charge?.(client, kind, tokens),
    open: (client) => find(client).open(client),
  };
}

function toRate({ perSecond, burst }: NonNullable<ApiKey['reads']>) {
  return burst === undefined ? { perSecond } : { perSecond, burst };
}
