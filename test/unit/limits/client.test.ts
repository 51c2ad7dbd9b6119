import { describe, expect, test } from 'vitest';
import { createClientResolver } from '../../../src/limits/client.ts';

function clientOf(remoteAddress: string | undefined, forwarded?: string, trusted: readonly string[] = []): string {
  return createClientResolver(trusted)({
    ...(remoteAddress !== undefined && { remoteAddress }),
    header: (name) => (name === 'x-forwarded-for' ? forwarded : undefined),
  });
}

describe('a client', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['::1', '0:0:0:0::/64'],
    [undefined, 'unknown'],
    ['', 'unknown'],
  ])('at %s is %s', (address, client) => expect(clientOf(address)).toBe(client));

  const PROXIES = ['10.0.0.0/8', '::1', 'fd00::/8'];
  test.each([
    ['without a trusted proxy the header is a claim', '203.0.113.7', '198.51.100.1', [], '203.0.113.7'],
    ['neither is it read of somebody who is none', '203.0.113.7', '198.51.100.1', PROXIES, '203.0.113.7'],
    ['a trusted proxy tells of its client', '10.1.1.1', '198.51.100.1', PROXIES, '198.51.100.1'],
    ['even where it listens on both families', '::ffff:10.1.1.1', '198.51.100.1', PROXIES, '198.51.100.1'],
    ['what stands further left is the client’s claim', '10.1.1.1', '1.1.1.1, 198.51.100.1', PROXIES, '198.51.100.1'],
    ['trusted proxies are walked through', '::1', '1.1.1.1, 198.51.100.1, 10.2.2.2, fd00::5', PROXIES, '198.51.100.1'],
    ['when all are trusted the farthest is the client', '::1', '10.3.3.3, 10.2.2.2', PROXIES, '10.3.3.3'],
    ['without the header the proxy is the client', '10.1.1.1', undefined, PROXIES, '10.1.1.1'],
    ['what is unreadable ends the walk', '10.1.1.1', '198.51.100.1, unknown, 10.2.2.2', PROXIES, '10.2.2.2'],
    ['a port is left out', '10.1.1.1', '198.51.100.1:4711', PROXIES, '198.51.100.1'],
    ['a port is left out', '10.1.1.1', '[2001:db8:1:2::9]:4711', PROXIES, '2001:db8:1:2::/64'],
  ])('%s', (_, address, forwarded, trusted, client) => expect(clientOf(address, forwarded, trusted)).toBe(client));

  test('a proxy that is no address is rejected by name', () => {
    expect(() => createClientResolver(['10.0.0.0/8', 'proxy.local'])).toThrow(
      new TypeError('trustedProxies must contain addresses or ranges such as 10.0.0.0/8, got "proxy.local"'),
    );
  });
});
