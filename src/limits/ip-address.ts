/** The 16 bytes of an address. An IPv4 address is in the mapped range (RFC 4291, 2.5.5.2). */
export type IpAddress = Uint8Array;

/** A range of addresses with the same first `bits` of 128. */
export interface IpRange {
  readonly address: IpAddress;
  readonly bits: number;
}

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] as const;
const OCTET = /^(?:0|[1-9]\d{0,2})$/;
const GROUP = /^[0-9a-f]{1,4}$/i;

/**
 * Parses an address: `10.1.2.3`, `2001:db8::1`, `::ffff:10.1.2.3`. The first and the last are equal. A zone
 * (`fe80::1%eth0`) is removed. Octal and shortened forms of IPv4 are not valid.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (!text.includes(':')) {
    const octets = parseOctets(text);
    return octets && Uint8Array.from([...MAPPED, ...octets]);
  }
  const [plain = ''] = text.split('%', 1);
  const last = plain.slice(plain.lastIndexOf(':') + 1);
  const tail = last.includes('.') ? parseOctets(last) : [];
  if (tail === undefined) return undefined;
  // Four octets at the end are two groups of an IPv6 address.
  const groups = tail.length === 0 ? plain : `${plain.slice(0, -last.length)}${hexGroups(tail)}`;
  return parseGroups(groups);
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
  for (let i = 0; i < 16; i++) {
    const left = Math.min(8, Math.max(0, bits - 8 * i));
    const mask = 0xff & (0xff << (8 - left));
    if (((address[i] ?? 0) & mask) !== ((base[i] ?? 0) & mask)) return false;
  }
  return true;
}

/** Whether an address is an IPv4 address. */
export function isIpv4(address: IpAddress): boolean {
  return MAPPED.every((byte, i) => address[i] === byte);
}

function parseOctets(text: string): number[] | undefined {
  const octets = text.split('.');
  if (octets.length !== 4 || !octets.every((octet) => OCTET.test(octet) && Number(octet) <= 255)) return undefined;
  return octets.map(Number);
}

function hexGroups([a = 0, b = 0, c = 0, d = 0]: readonly number[]): string {
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

function parseGroups(text: string): IpAddress | undefined {
  const [head = '', tail, ...more] = text.split('::');
  if (more.length > 0) return undefined;
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const missing = 8 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...before, ...Array<string>(missing).fill('0'), ...after];
  if (!groups.every((group) => GROUP.test(group))) return undefined;
  return Uint8Array.from(
    groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
  );
}
