import ipaddr from 'ipaddr.js';
import { formatValue } from '../protocol/format-value.ts';

/** The address information of a request. */
export interface Origin {
  /** The remote address of the socket. */
  readonly remoteAddress?: string | undefined;
  header(name: string): string | undefined;
}

/** The client id of all requests without a valid address. */
export const UNKNOWN_CLIENT = 'unknown';

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
    if (socket === undefined) return UNKNOWN_CLIENT;
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
  if (!Array.isArray(texts)) throw new TypeError(`trustedProxies must be a list, got ${formatValue(texts)}`);
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

/** An address. An IPv4 address is in the mapped range (RFC 4291, 2.5.5.2). */
type IpAddress = ipaddr.IPv6;

/** A range of addresses with the same first `bits` of 128. */
export interface IpRange {
  readonly address: IpAddress;
  readonly bits: number;
}

/** Groups of an IPv6 address that identify one client, because a subscriber usually controls a whole /64. */
const NETWORK_GROUPS = 4;

/**
 * Parses an address: `10.1.2.3`, `2001:db8::1`, `::ffff:10.1.2.3`. The first and the last are equal. A zone
 * (`fe80::1%eth0`) is ignored. Octal and shortened forms of IPv4, which the library accepts, are not valid.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  const [plain = ''] = text.includes(':') ? text.split('%', 1) : [text];
  const last = plain.slice(plain.lastIndexOf(':') + 1);
  const hasOctets = last.includes('.') || !plain.includes(':');
  if ((hasOctets && !ipaddr.IPv4.isValidFourPartDecimal(last)) || !ipaddr.isValid(plain)) return undefined;
  const address = ipaddr.parse(plain);
  return address instanceof ipaddr.IPv6 ? address : address.toIPv4MappedAddress();
}

/** Parses a range `10.0.0.0/8`, `2001:db8::/32`, or a single address. */
export function parseIpRange(text: string): IpRange | undefined {
  const [base = '', length, ...more] = text.split('/');
  const address = parseIpAddress(base);
  if (address === undefined || more.length > 0) return undefined;
  const width = base.includes(':') ? 128 : 32;
  if (length === undefined) return { address, bits: 128 };
  if (!/^\d{1,3}$/.test(length) || Number(length) > width) return undefined;
  return { address, bits: 128 - width + Number(length) };
}

/** Whether text is a valid address or range. */
export function isIpRange(text: string): boolean {
  return parseIpRange(text) !== undefined;
}

export function isInRange(address: IpAddress, { address: base, bits }: IpRange): boolean {
  return address.match(base, bits);
}

export function isIpv4(address: IpAddress): boolean {
  return address.isIPv4MappedAddress();
}

/** Formats an IPv4 address, or the network of an IPv6 address. */
export function formatNetwork(address: IpAddress): string {
  if (isIpv4(address)) return address.toIPv4Address().toString();
  const groups = address.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}
