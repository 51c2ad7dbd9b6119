import { type IpRange, isInRange, isIpv4, parseIpAddress, parseIpRange } from '#internal';

/** Restricts the addresses that subscribers may name to public ones. See docs/internals/decisions.md#d5-7. */
export type AddressGuard = ReturnType<typeof createAddressGuard>;

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
export function createAddressGuard(allow: readonly string[], where: string) {
  const allowed = parseRanges(allow, where);
  return {
    /** Returns whether a connection to an IPv4 or IPv6 address is allowed. */
    allows(text: string): boolean {
      const address = parseIpAddress(text);
      if (address === undefined) return false;
      const isV4 = isIpv4(address);
      // The range of all IPv6 addresses contains those of IPv4 in their mapped form.
      const isIn = (range: IpRange) => isIpv4(range.address) === isV4 && isInRange(address, range);
      if (LINK_LOCAL.some(isIn)) return false;
      return allowed.some(isIn) || ((isV4 || GLOBAL_V6.some(isIn)) && !PRIVATE.some(isIn));
    },
  };
}

function parseRanges(texts: readonly string[], where: string): readonly IpRange[] {
  return texts.map((text) => {
    const range = parseIpRange(text);
    if (range === undefined) throw new TypeError(`${where}: "${text}" is not a valid address or address range`);
    return range;
  });
}

const PRIVATE = parseRanges([...PRIVATE_V4, ...PRIVATE_V6], 'PRIVATE');
const LINK_LOCAL = parseRanges(['169.254.0.0/16', 'fe80::/10'], 'LINK_LOCAL');
const GLOBAL_V6 = parseRanges(['2000::/3'], 'GLOBAL_V6');
