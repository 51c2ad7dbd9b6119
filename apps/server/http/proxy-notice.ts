import type { ApiRequest } from 'intentbook';
import { createClientResolver } from '#internal';

/**
 * Creates a function that observes requests. It reports the first one that a proxy has forwarded which is not trusted:
 * all clients behind that proxy share one rate limit.
 */
export function createProxyNotice(
  trustedProxies: readonly string[],
  onNotice: (message: string) => void,
): (request: ApiRequest) => void {
  const getClient = createClientResolver(trustedProxies);
  const getPeer = createClientResolver([]);
  let isReported = false;
  return (request) => {
    if (isReported || request.header('x-forwarded-for') === undefined) return;
    const peer = getPeer(request);
    if (getClient(request) !== peer) return;
    isReported = true;
    onNotice(
      `a request with X-Forwarded-For came from ${peer}, which is not one of the trusted proxies (--trusted-proxies). ` +
        'All clients behind a proxy that is not trusted share one rate limit',
    );
  };
}
