import ipaddr from 'ipaddr.js';

/** An address. An IPv4 address is in the mapped range (RFC 4291, 2.5.5.2). */
export type IpAddress = ipaddr.IPv6;

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

/** Whether an address is in a range. */
export function isInRange(address: IpAddress, { address: base, bits }: IpRange): boolean {
  return address.match(base, bits);
}

/** Whether an address is an IPv4 address. */
export function isIpv4(address: IpAddress): boolean {
  return address.isIPv4MappedAddress();
}

/** Formats an IPv4 address, or the network of an IPv6 address. */
export function formatNetwork(address: IpAddress): string {
  if (isIpv4(address)) return address.toIPv4Address().toString();
  const groups = address.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}
