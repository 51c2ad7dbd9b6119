import { BlockList, isIP } from 'node:net';

/** Restricts the addresses that subscribers may name to public ones. See docs/internals/decisions.md#d5-7. */
export interface AddressGuard {
  /** Returns whether a connection to an IPv4 or IPv6 address is allowed. */
  allows(address: string): boolean;
}

/** IPv4 ranges that are not part of the public internet (IANA special-purpose registries). */
const PRIVATE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Non-public ranges within 2000::/3: Teredo and other protocols, documentation, 6to4. Nothing else is public. */
const PRIVATE_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/**
 * Creates an address guard.
 *
 * @param allow - Private ranges to allow, such as `127.0.0.1/32`, for tests. Link-local addresses, where clouds serve
 * their secrets, are never allowed.
 * @param where - The name of the channel's function and the option, for errors.
 * @throws TypeError with the range that is not valid.
 */
export function createAddressGuard(allow: readonly string[], where: string): AddressGuard {
  const invalid = allow.find((range) => !parseRange(range).isValid);
  if (invalid !== undefined) throw new TypeError(`${where}: "${invalid}" is not a valid address or address range`);
  const closed = createBlockList(PRIVATE_V4);
  const special = createBlockList(PRIVATE_V6);
  const allowed = createBlockList(allow);
  const linkLocal = createBlockList(['169.254.0.0/16', 'fe80::/10']);
  const global = createBlockList(['2000::/3']);

  return {
    allows(address) {
      const plain = toPlainAddress(address);
      if (isIP(plain) === 4) {
        if (linkLocal.check(plain, 'ipv4')) return false;
        return allowed.check(plain, 'ipv4') || !closed.check(plain, 'ipv4');
      }
      if (isIP(plain) !== 6 || linkLocal.check(plain, 'ipv6')) return false;
      return allowed.check(plain, 'ipv6') || (global.check(plain, 'ipv6') && !special.check(plain, 'ipv6'));
    },
  };
}

function createBlockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const { address, bits, isIpv4 } of ranges.map(parseRange)) {
    list.addSubnet(address, bits, isIpv4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** Parses an address or a range. */
function parseRange(text: string) {
  const slash = text.indexOf('/');
  const [address, suffix] = slash < 0 ? [text, undefined] : [text.slice(0, slash), text.slice(slash + 1)];
  const isIpv4 = isIP(address) === 4;
  const maximum = isIpv4 ? 32 : 128;
  // Number('') is 0: a range without its number of bits would allow all addresses.
  const bits = suffix === undefined ? maximum : /^\d+$/.test(suffix) ? Number(suffix) : Number.NaN;
  return { address, bits, isIpv4, isValid: isIP(address) !== 0 && bits <= maximum };
}

/** Converts an IPv4-mapped IPv6 address, in any notation of `::ffff:10.0.0.1`, to the IPv4 address. */
export function toPlainAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const canonical = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical) ?? [];
  if (high === undefined || low === undefined) return canonical;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join('.');
}
