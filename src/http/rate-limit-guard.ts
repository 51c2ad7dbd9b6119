import { lazy } from '../concurrency/lazy.ts';
import type { ApiRequest } from './message.ts';
import type { RateLimitGuard, RateLimitOptions } from './rate-limit.ts';

/** Creates the guard of an interface. The code for a limiter is loaded with the first request. */
export function createRateLimitGuard(
  { limiter }: RateLimitOptions,
  getClient: (request: ApiRequest) => string,
  onFailure: (failure: unknown) => void,
): RateLimitGuard {
  if (limiter === undefined) return (_request, _cost, respond) => respond({ rows: 0, bytes: 0 });
  const guard = lazy(async () =>
    (await import('./limiter-guard.ts')).createLimiterGuard(limiter, getClient, onFailure),
  );
  return (request, cost, respond) => guard.use((admit) => admit(request, cost, respond));
}
