import { createClientResolver } from '../limits/index.ts';
import { requireFunction } from '../validation/options.ts';
import type { ApiRequest } from './message.ts';
import type { RateLimitOptions } from './rate-limit.ts';

/**
 * Creates the function that returns the client of a request: the one that it identifies itself as, otherwise its
 * address.
 *
 * @throws TypeError for `identifyClient` that is no function, and naming a trusted proxy that is not an address or a
 * range.
 */
export function createRequestClient({
  identifyClient,
  trustedProxies = [],
}: RateLimitOptions): (request: ApiRequest) => string {
  const getAddress = createClientResolver(trustedProxies);
  if (identifyClient === undefined) return getAddress;
  requireFunction('identifyClient', identifyClient);
  return (request) => identifyClient(request) ?? getAddress(request);
}
