import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { webhookChannel } from 'intentbook/channels';
import { createAddressGuard } from '../../../adapters/channels/http-post.ts';
import type { Target } from '../target.ts';
import { textOf } from '../target.ts';

const { parseTarget } = webhookChannel();
const guard = createAddressGuard([], 'test');

const HOSTS = [
  '127.0.0.1',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '255.255.255.255',
  '[::1]',
  '[::]',
  '[fe80::1]',
  '[fd00::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:a9fe:a9fe]',
  '[64:ff9b::7f00:1]',
  '[2001:db8::1]',
  '[2606:4700::1]',
  '[2002:7f00:1::]',
  '0x7f.1',
  '2130706433',
  '017700000001',
  '1.1.1.1',
  'example.org',
  'localhost',
  '127.1',
  '１２７.0.0.1',
  '①②⑦.0.0.1',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
];

/** Computes whether an address is on the public internet with integers instead of range lists. */
function isPublic(address: string): boolean {
  if (isIP(address) === 4) return isPublicV4(numberOf(address));
  const groups = groupsOf(address);
  const high = groups[0] ?? 0;
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return isPublicV4((groups[6] ?? 0) * 65536 + (groups[7] ?? 0));
  }
  if (high < 0x2000 || high > 0x3fff) return false;
  if (high === 0x2001 && ((groups[1] ?? 0) < 0x200 || groups[1] === 0xdb8)) return false;
  return high !== 0x2002 && !(high === 0x3fff && (groups[1] ?? 0) < 0x1000);
}

const numberOf = (address: string) => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

const CLOSED: readonly (readonly [first: string, last: string])[] = [
  ...([
    ['0.0.0.0', '0.255.255.255'],
    ['10.0.0.0', '10.255.255.255'],
    ['100.64.0.0', '100.127.255.255'],
  ] as const),
  ...([
    ['127.0.0.0', '127.255.255.255'],
    ['169.254.0.0', '169.254.255.255'],
    ['172.16.0.0', '172.31.255.255'],
  ] as const),
  ...([
    ['192.0.0.0', '192.0.0.255'],
    ['192.0.2.0', '192.0.2.255'],
    ['192.88.99.0', '192.88.99.255'],
  ] as const),
  ...([
    ['192.168.0.0', '192.168.255.255'],
    ['198.18.0.0', '198.19.255.255'],
    ['198.51.100.0', '198.51.100.255'],
  ] as const),
  ...([
    ['203.0.113.0', '203.0.113.255'],
    ['224.0.0.0', '255.255.255.255'],
  ] as const),
];

const isPublicV4 = (value: number) =>
  !CLOSED.some(([first, last]) => value >= numberOf(first) && value <= numberOf(last));

/** Returns the eight groups of an IPv6 address in URL notation, including an IPv4 tail. */
function groupsOf(address: string): number[] {
  const canonical = new URL(`http://[${address.replace(/%.*/s, '')}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const parse = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  if (tail === undefined) return parse(head);
  const [before, after] = [parse(head), parse(tail)];
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

const target: Target = {
  name: 'webhook-target',
  words: [
    ...HOSTS,
    'http://',
    'https://',
    'HTTP:',
    'file:///',
    'ftp://',
    'javascript:',
    '@',
    ':',
    ':80',
    '/',
    '\\',
    '#',
    '?',
    '%00',
    '%2e',
    '\t',
    '\n',
    '。',
  ],
  seeds: [
    'https://hooks.example.org/path?key=1',
    ...HOSTS.map((host) => `http://${host}/`),
    'https://user:secret@example.org/',
  ],
  run(bytes) {
    const parsed = parseTarget(textOf(bytes));
    if (parsed === undefined) return undefined;
    assert.equal(parseTarget(parsed), parsed, 'its one form has another');
    const { protocol, username, password, hostname } = new URL(parsed);
    assert(['http:', 'https:'].includes(protocol) && username === '' && password === '' && hostname !== '');
    const host = hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) === 0) return parsed;
    assert.equal(guard.allows(host), isPublic(host), `${host} has another result`);
    return [parsed, guard.allows(host)];
  },
};

/** Addresses returned by a resolver. */
const address: Target = {
  name: 'webhook-address',
  words: [
    ...HOSTS.map((host) => host.replace(/[[\]]/g, '')),
    '%eth0',
    '%',
    '.',
    ':',
    '::',
    'ffff',
    '0',
    '255',
    '256',
    'g',
  ],
  seeds: HOSTS.map((host) => host.replace(/[[\]]/g, '')),
  run(bytes) {
    const text = textOf(bytes);
    const allowed = guard.allows(text);
    if (isIP(text) === 0) assert(!allowed, 'what is no address is let through');
    else assert.equal(allowed, isPublic(text));
    return allowed;
  },
};

export const WEBHOOK_TARGETS: readonly Target[] = [target, address];
