import { createClientResolver, createProxyTest } from '#internal';

/** Admits a connection of an address. `undefined`: the client has too many. The result is called when it ends. */
export type AdmitConnection = (remoteAddress: string | undefined) => (() => void) | undefined;

/** Connections of one client. A browser opens six per host, and its streams are limited separately. */
const MAX_CONNECTIONS = 256;

/**
 * Creates the limit of connections per client: an IPv4 address or a /64 of IPv6. Without it, a client could hold any
 * number of unread responses. A trusted proxy is not limited, because it has the connections of many clients.
 *
 * @param streams - Streams that a client may have open, each on one connection.
 */
export function createConnectionLimit(trustedProxies: readonly string[] = [], streams = 0): AdmitConnection {
  const getClient = createClientResolver([]);
  const isProxy = createProxyTest(trustedProxies);
  const max = Math.max(MAX_CONNECTIONS, 2 * streams);
  const open = new Map<string, number>();
  return (remoteAddress) => {
    if (isProxy(remoteAddress)) return () => {};
    const client = getClient({ remoteAddress, header: () => undefined });
    const count = open.get(client) ?? 0;
    if (count >= max) return undefined;
    open.set(client, count + 1);
    return () => {
      const left = (open.get(client) ?? 1) - 1;
      if (left > 0) open.set(client, left);
      else open.delete(client);
    };
  };
}
