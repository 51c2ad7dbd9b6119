import { BlockList, isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isInRange, parseIpAddress, parseIpRange } from '../../../src/limits/client.ts';

const hex = (text: string) => Buffer.from(parseIpAddress(text)?.toByteArray() ?? []).toString('hex');

describe('IP address parser', () => {
  test.each([
    ['1.2.3.4', '00000000000000000000ffff01020304'],
    ['::ffff:1.2.3.4', '00000000000000000000ffff01020304'],
    ['::FFFF:102:304', '00000000000000000000ffff01020304'],
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['1::', '00010000000000000000000000000000'],
    ['2001:db8::a:0:1', '20010db8000000000000000a00000001'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['fe80::1%eth0', 'fe800000000000000000000000000001'],
    ['64:ff9b::10.0.0.1', '0064ff9b00000000000000000a000001'],
  ])('formats %s', (text, bytes) => expect(hex(text)).toBe(bytes));

  test.each(['010.0.0.1', '::010.0.0.1', '0x7f.1', '2130706433', '1.2.3'])('rejects %s', (text) => {
    expect(parseIpAddress(text)).toBe(undefined);
  });

  test('accepts the addresses that node:net accepts and nothing else', () => {
    const v4 = fc.ipV4();
    const v6 = fc.ipV6();
    const noise = fc.string({ unit: fc.constantFrom(...'0123456789abcdef:.%g /x'), maxLength: 24 });
    fc.assert(
      fc.property(fc.oneof(v4, v6, noise), (text) => {
        const plain = text.split('%')[0] ?? '';
        // A socket never reports an empty zone, or a zone of an IPv4 address.
        fc.pre(!text.includes('%') || isIP(text) !== 0);
        expect(parseIpAddress(text) !== undefined).toBe(isIP(plain) !== 0);
      }),
      { numRuns: 2000 },
    );
  });

  test('matches ranges like net.BlockList', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }), (base, address, bits) => {
        const list = new BlockList();
        list.addSubnet(base, bits);
        expect(inRange(address, `${base}/${bits}`)).toBe(list.check(address));
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV6(), fc.integer({ min: 1, max: 128 }), (base, address, bits) => {
        const list = new BlockList();
        list.addSubnet(base, bits, 'ipv6');
        expect(inRange(address, `${base}/${bits}`)).toBe(list.check(address, 'ipv6'));
        expect(inRange(base, `${base}/${bits}`)).toBe(true);
      }),
    );
  });

  test.each(['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '::/129', '10.0.0/8', 'x', '', '10.0.0.0/8/8'])(
    'rejects %s as a range',
    (text) => expect(parseIpRange(text)).toBe(undefined),
  );
});

function inRange(text: string, rangeText: string): boolean {
  const [address, range] = [parseIpAddress(text), parseIpRange(rangeText)];
  if (address === undefined || range === undefined) throw new Error(`${text} or ${rangeText} was not read`);
  return isInRange(address, range);
}
