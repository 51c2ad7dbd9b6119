import { formatNetwork, type IpAddress, type IpRange, isInRange, parseIpAddress, parseIpRange } from './ip-address.ts';

/** The address information of a request. */
export interface Origin {
  /** The remote address of the socket. */
  readonly remoteAddress?: string | undefined;
  header(name: string): string | undefined;
}

/** The client id of all requests without a valid address. */
const UNKNOWN = 'unknown';

/**
 * Creates the function that returns the client of a request. It is the socket's address or, if that is a trusted proxy,
 * the nearest untrusted address in `X-Forwarded-For`. Addresses further away are claims of the client and ignored. The
 * header is also ignored if the socket's address is not trusted.
 *
 * @param trustedProxies - Addresses and ranges, such as `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
 * @throws TypeError naming the invalid element.
 */
export function createClientResolver(trustedProxies: readonly string[]): (origin: Origin) => string {
  const trusted = parseProxies(trustedProxies);
  return (origin) => {
    const socket = parseIpAddress(origin.remoteAddress ?? '');
    if (socket === undefined) return UNKNOWN;
    return formatNetwork(isTrusted(socket, trusted) ? getForwardedAddress(socket, origin, trusted) : socket);
  };
}

/**
 * Creates the function that returns whether a socket belongs to a trusted proxy, and so to many clients.
 *
 * @throws TypeError naming the invalid element.
 */
export function createProxyTest(trustedProxies: readonly string[]): (remoteAddress: string | undefined) => boolean {
  const trusted = parseProxies(trustedProxies);
  return (remoteAddress) => {
    const socket = parseIpAddress(remoteAddress ?? '');
    return socket !== undefined && isTrusted(socket, trusted);
  };
}

function parseProxies(texts: readonly string[]): readonly IpRange[] {
  return texts.map((text) => {
    const range = parseIpRange(text);
    if (range === undefined)
      throw new TypeError(`trustedProxies must contain addresses or ranges such as 10.0.0.0/8, got "${text}"`);
    return range;
  });
}

/** Walks from the nearest hop outwards. Each trusted proxy has appended the address of the previous hop. */
function getForwardedAddress(proxy: IpAddress, origin: Origin, trusted: readonly IpRange[]): IpAddress {
  const hops = (origin.header('x-forwarded-for') ?? '').split(',').reverse();
  let nearest = proxy;
  for (const hop of hops) {
    const text = hop.trim();
    if (text === '') continue; // lists may have empty elements (RFC 9110, 5.6.1)
    const address = parseIpAddress(withoutPort(text));
    // A malformed entry was not written by a trusted proxy.
    if (address === undefined) return nearest;
    nearest = address;
    if (!isTrusted(address, trusted)) return nearest;
  }
  return nearest;
}

function isTrusted(address: IpAddress, trusted: readonly IpRange[]): boolean {
  return trusted.some((range) => isInRange(address, range));
}

/** Removes the port. Some proxies write `1.2.3.4:5678` and `[2001:db8::1]:5678`. */
function withoutPort(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]*):\d+)$/.exec(text) ?? [];
  return bracketed ?? plain ?? text;
}
