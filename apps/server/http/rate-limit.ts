import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiRequest, type Limiter, type RateLimitOptions, tokenBuckets } from 'intentbook';
import type { ParsedSettings } from '../settings/schema.ts';
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

/** Minimum milliseconds after which a client that ignores rejections gets the next one. */
const PAUSE = 1_000;

/** Milliseconds between two delayed rejections. The connections of a client would otherwise return at the same time. */
const SPACING = 2;

/** Creates the rate-limit options of a server's interfaces. */
export function toRateLimitOptions(
  { rateLimit, trustedProxies, apiKeys }: Pick<ParsedSettings, 'rateLimit' | 'trustedProxies' | 'apiKeys'>,
  checkKey: KeyCheck,
): RateLimitOptions {
  const identifyClient = (request: ApiRequest) => checkKey(request)?.client;
  const options = apiKeys.length === 0 ? { trustedProxies } : { trustedProxies, identifyClient };
  if (rateLimit === 'off') return options;
  const { reads, writes, streams } = rateLimit;
  const shared = tokenBuckets({ reads: { perSecond: reads }, writes: { perSecond: writes }, streams });
  const limiter = withBudgets(shared, apiKeys, rateLimit);
  // A proxy has few connections for all clients, and limits for those that ignore rejections.
  return { ...options, limiter: trustedProxies.length === 0 ? withPauses(limiter, reads) : limiter };
}

/**
 * Creates a limiter that delays the rejections of a client with more of them than reads. So a client costs the server
 * not more than one rejection per second and connection, whatever it sends.
 */
function withPauses(limiter: Limiter, perSecond: number): Limiter {
  const rejections = tokenBuckets({ reads: { perSecond }, streams: 0 });
  let last = 0;
  return {
    ...limiter,
    async take(client, kind, tokens) {
      const admission = await limiter.take(client, kind, tokens);
      if (admission.status === 'admitted') return admission;
      const { status } = await rejections.take(client, 'read', 1);
      if (status === 'rejected') {
        const now = performance.now();
        last += SPACING;
        // A client with very many requests must not delay those of others further.
        if (last < now + PAUSE || last > now + 2 * PAUSE) last = now + PAUSE;
        await sleep(last - now);
      }
      return admission;
    },
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
