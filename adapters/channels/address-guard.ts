import { BlockList, isIP } from 'node:net';

/** Judges addresses that subscribers name: a private one is no business of theirs (decision 5.7). */
export interface AddressGuard {
  /** Whether a connection to this address, of either family, may be made. */
  allows(address: string): boolean;
}

/** Everything that is not the public internet (IANA special-purpose registries), by family. */
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
/** Within 2000::/3, outside of which nothing is public: Teredo and other protocols, documentation, 6to4. */
const PRIVATE_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/**
 * @param allow ranges that are let through all the same, `127.0.0.1/32`, for testing. Link-local addresses, where clouds keep their
 * secrets, never are.
 * @throws TypeError naming what is no range.
 */
export function addressGuard(allow: readonly string[]): AddressGuard {
  const [closed, special, named] = [createBlockList(PRIVATE_V4), createBlockList(PRIVATE_V6), createBlockList(allow)];
  const linkLocal = createBlockList(['169.254.0.0/16', 'fe80::/10']);
  const global = createBlockList(['2000::/3']);

  return {
    allows(address) {
      const plain = unmapped(address);
      if (isIP(plain) === 4) {
        if (linkLocal.check(plain, 'ipv4')) return false;
        return named.check(plain, 'ipv4') || !closed.check(plain, 'ipv4');
      }
      if (isIP(plain) !== 6 || linkLocal.check(plain, 'ipv6')) return false;
      return named.check(plain, 'ipv6') || (global.check(plain, 'ipv6') && !special.check(plain, 'ipv6'));
    },
  };
}

function createBlockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIP(address);
    const size = bits === undefined ? (family === 4 ? 32 : 128) : Number(bits);
    if (family === 0 || !Number.isInteger(size) || size < 0 || size > (family === 4 ? 32 : 128)) {
      throw new TypeError(`webhook: "${range}" is no address and no range of them`);
    }
    list.addSubnet(address, size, family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** An IPv4 address that is written as one of IPv6 (`::ffff:10.0.0.1`, however spelled) as what it is. */
function unmapped(address: string): string {
  if (isIP(address) !== 6) return address;
  const canonical = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical) ?? [];
  if (high === undefined || low === undefined) return canonical;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join('.');
}
