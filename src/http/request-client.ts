import { createClientResolver } from '../limits/index.ts';
import type { ApiRequest } from './message.ts';
import type { RateLimitOptions } from './rate-limit.ts';

/**
 * Creates the function that returns the client of a request: the one that it identifies itself as, otherwise its
 * address.
 *
 * @throws TypeError naming a trusted proxy that is not an address or a range.
 */
export function createRequestClient({
  identifyClient,
  trustedProxies = [],
}: RateLimitOptions): (request: ApiRequest) => string {
  const getAddress = createClientResolver(trustedProxies);
  if (identifyClient === undefined) return getAddress;
  return (request) => identifyClient(request) ?? getAddress(request);
}
