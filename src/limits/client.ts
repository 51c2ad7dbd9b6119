import type { IpAddress, IpRange } from './ip-address.ts';
import { isInRange, isIpv4, parseIpAddress, parseIpRange } from './ip-address.ts';

/** What is known of where a request came from. */
export interface Origin {
  /** The address at the other end of the socket. */
  readonly remoteAddress?: string | undefined;
  header(name: string): string | undefined;
}

/** Requests whose address nobody has told share one budget. */
const UNKNOWN = 'unknown';

/** Leading bytes of an IPv6 address that stand for one client: whoever has one address of a /64 has them all. */
const NETWORK_BYTES = 8;

/**
 * Makes the function that says which client a request is of: its socket's address, or, where that one is a trusted
 * proxy's, the nearest address in `X-Forwarded-For` that is not. Whatever else that header says is the client's own
 * claim and not looked at; neither is the header of anybody else.
 *
 * @param trustedProxies addresses and ranges, `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
 * @throws TypeError naming the one that is none.
 */
export function createClientResolver(trustedProxies: readonly string[]): (origin: Origin) => string {
  const trusted = trustedProxies.map((text) => {
    const range = parseIpRange(text);
    if (range === undefined)
      throw new TypeError(`trustedProxies: "${text}" is no address and no range such as 10.0.0.0/8`);
    return range;
  });
  return (origin) => {
    const socket = parseIpAddress(origin.remoteAddress ?? '');
    if (socket === undefined) return UNKNOWN;
    return formatClient(isTrusted(socket, trusted) ? forwardedBy(socket, origin, trusted) : socket);
  };
}

/** Walks from the nearest hop outwards. Each trusted proxy has written the address of the one before it. */
function forwardedBy(proxy: IpAddress, origin: Origin, trusted: readonly IpRange[]): IpAddress {
  const hops = (origin.header('x-forwarded-for') ?? '').split(',').reverse();
  let nearest = proxy;
  for (const hop of hops) {
    const address = parseIpAddress(withoutPort(hop.trim()));
    // What cannot be read was not written by a proxy of ours.
    if (address === undefined) return nearest;
    nearest = address;
    if (!isTrusted(address, trusted)) return nearest;
  }
  return nearest;
}

function isTrusted(address: IpAddress, trusted: readonly IpRange[]): boolean {
  return trusted.some((range) => isInRange(address, range));
}

/** Some proxies write `1.2.3.4:5678` and `[2001:db8::1]:5678`. */
function withoutPort(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]*):\d+)$/.exec(text) ?? [];
  return bracketed ?? plain ?? text;
}

function formatClient(address: IpAddress): string {
  if (isIpv4(address)) return address.subarray(12).join('.');
  const network = Array.from({ length: NETWORK_BYTES / 2 }, (_, i) => groupAt(address, 2 * i).toString(16));
  return `${network.join(':')}::/64`;
}

function groupAt(address: IpAddress, at: number): number {
  return ((address[at] ?? 0) << 8) | (address[at + 1] ?? 0);
}
