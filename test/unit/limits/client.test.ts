import { describe, expect, test } from 'vitest';
import { createClientResolver } from '../../../src/limits/client.ts';

function clientOf(remoteAddress: string | undefined, forwarded?: string, trusted: readonly string[] = []): string {
  return createClientResolver(trusted)({
    ...(remoteAddress !== undefined && { remoteAddress }),
    header: (name) => (name === 'x-forwarded-for' ? forwarded : undefined),
  });
}

describe('client address', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['::1', '0:0:0:0::/64'],
    [undefined, 'unknown'],
    ['', 'unknown'],
  ])('%s belongs to client %s', (address, client) => expect(clientOf(address)).toBe(client));

  const PROXIES = ['10.0.0.0/8', '::1', 'fd00::/8'];
  test.each([
    ['the header is ignored without trusted proxies', '203.0.113.7', '198.51.100.1', [], '203.0.113.7'],
    ['the header is ignored from an untrusted address', '203.0.113.7', '198.51.100.1', PROXIES, '203.0.113.7'],
    ['a trusted proxy names its client', '10.1.1.1', '198.51.100.1', PROXIES, '198.51.100.1'],
    [
      'a trusted proxy on both address families names its client',
      '::ffff:10.1.1.1',
      '198.51.100.1',
      PROXIES,
      '198.51.100.1',
    ],
    ['entries further left in the header are ignored', '10.1.1.1', '1.1.1.1, 198.51.100.1', PROXIES, '198.51.100.1'],
    [
      'trusted proxies in the header are skipped',
      '::1',
      '1.1.1.1, 198.51.100.1, 10.2.2.2, fd00::5',
      PROXIES,
      '198.51.100.1',
    ],
    ['the farthest address is used if all are trusted', '::1', '10.3.3.3, 10.2.2.2', PROXIES, '10.3.3.3'],
    ['the proxy is the client without a header', '10.1.1.1', undefined, PROXIES, '10.1.1.1'],
    ['an unreadable entry ends the search', '10.1.1.1', '198.51.100.1, unknown, 10.2.2.2', PROXIES, '10.2.2.2'],
    ['empty entries are ignored', '10.1.1.1', ',198.51.100.1, , 10.2.2.2,', PROXIES, '198.51.100.1'],
    ['an IPv4 port is ignored', '10.1.1.1', '198.51.100.1:4711', PROXIES, '198.51.100.1'],
    ['an IPv6 port is ignored', '10.1.1.1', '[2001:db8:1:2::9]:4711', PROXIES, '2001:db8:1:2::/64'],
  ])('%s', (_, address, forwarded, trusted, client) => expect(clientOf(address, forwarded, trusted)).toBe(client));

  test('an invalid trusted proxy is rejected by name', () => {
    expect(() => createClientResolver(['10.0.0.0/8', 'proxy.local'])).toThrow(
      new TypeError('trustedProxies must contain addresses or ranges such as 10.0.0.0/8, got "proxy.local"'),
    );
  });
});
