import { type LookupAddress, type LookupAllOptions, lookup, promises } from 'node:dns';
import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { DeliveryResult } from 'intentbook';
import {
  formatNetwork,
  formatSecret,
  type IpRange,
  isInRange,
  isIpv4,
  parseIpAddress,
  parseIpRange,
  parseRetryAfter,
} from '#internal';

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
  if (!Array.isArray(texts)) throw new TypeError(`${where} must be a list, got ${formatSecret(texts)}`);
  return texts.map((text) => {
    const range = parseIpRange(text);
    if (range === undefined) throw new TypeError(`${where}: "${text}" is not a valid address or address range`);
    return range;
  });
}

const PRIVATE = parseRanges([...PRIVATE_V4, ...PRIVATE_V6], 'PRIVATE');
const LINK_LOCAL = parseRanges(['169.254.0.0/16', 'fe80::/10'], 'LINK_LOCAL');
const GLOBAL_V6 = parseRanges(['2000::/3'], 'GLOBAL_V6');

/** Response to a POST request, with a limited body. */
export interface Posted {
  readonly status: number;
  /** First bytes of the body; empty without `expected`. */
  readonly body: string;
  /** Value of `Retry-After`, in seconds. */
  readonly retryAfter?: number;
}

/**
 * Converts a response to the result of a delivery.
 *
 * @param gone - Statuses after which the subscription is removed.
 */
export function toDeliveryResult({ status, retryAfter }: Posted, gone: readonly number[]): DeliveryResult {
  if (status >= 200 && status < 300) return { status: 'delivered' };
  const error = `responded with ${status}`;
  if (gone.includes(status)) return { status: 'gone', error };
  return { status: 'failed', error, ...(retryAfter === undefined ? {} : { retryAfter }) };
}

export interface PostOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly signal: AbortSignal;
  readonly guard: AddressGuard;
  /** Reserves a connection to the address; see `ChannelCall`. Default: no limit. */
  readonly enter?: ((address: string) => boolean) | undefined;
  /** The body is read until it contains this text. Default: it is not read, because it may have no end. */
  readonly expected?: string;
  /** Resolves host names. Default: a resolver of untrusted names. */
  readonly resolve?: Resolve;
}

/** Limit of the response body, in bytes. */
const MAX_BODY = 4096;

/**
 * Options of a connection: milliseconds after which the next address of a name is tried. The default of Node.js, 250,
 * is too short for a receiver on another continent, and for a connection whose first packet is lost.
 */
const CONNECTION = { autoSelectFamilyAttemptTimeout: 1_500 };

/**
 * Sends a POST request to an untrusted URL. Each address is checked after its name was resolved, when the connection is
 * made, so that a name cannot resolve to another address later. A connection is used once; redirects are not followed.
 */
export function post({ url, headers, body, signal, guard, enter, ...options }: PostOptions): Promise<Posted> {
  return new Promise((fulfil, reject) => {
    const { protocol, hostname } = new URL(url);
    const { expected, resolve = createNameResolver({ signal }) } = options;
    const host = hostname.replace(/^\[|\]$/g, '');
    // An IP address is not resolved, so the lookup function is not called.
    if (isIP(host) !== 0) {
      if (!guard.allows(host)) return reject(createRejection());
      if (enter?.(toNetwork(host)) === false) return reject(new BusyAddress());
    }
    const send = protocol === 'https:' ? requestHttps : requestHttp;
    const request = send(url, {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      lookup: createGuardedLookup(guard, resolve, enter),
      ...CONNECTION,
      signal,
    });
    request.on('error', reject);
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('the target switched to another protocol'));
    });
    request.on('response', (response) => {
      let read = Buffer.alloc(0);
      const done = () => {
        const retryAfter = getRetryAfter(response.headers);
        const wait = retryAfter > 0 ? { retryAfter } : {};
        fulfil({ status: response.statusCode ?? 0, body: read.toString().slice(0, MAX_BODY), ...wait });
        request.destroy();
      };
      if (expected === undefined) return done();
      response.on('data', (chunk: Buffer) => {
        read = Buffer.concat([read, chunk]);
        if (read.length >= MAX_BODY || read.includes(expected)) done();
      });
      response.on('end', done);
      // The status is complete, so a body that breaks off changes nothing.
      response.on('error', done);
    });
    request.end(body);
  });
}

/** Returns the seconds of `Retry-After`. 0 if there are none. */
function getRetryAfter({ 'retry-after': value = '', date = '' }: IncomingHttpHeaders): number {
  if (value === '') return 0;
  const delay = parseRetryAfter(new Headers({ 'retry-after': value, date }), Date.now(), Number.MAX_SAFE_INTEGER);
  return Math.ceil((delay ?? 0) / 1000);
}

/** The address has its maximum number of attempts. No connection was made. */
export class BusyAddress extends Error {}

/** Returns an IPv4 address, or the first 64 bits of an IPv6 address, which one receiver has for itself. */
function toNetwork(text: string): string {
  const address = parseIpAddress(text);
  return address === undefined ? text : formatNetwork(address);
}

function createGuardedLookup(guard: AddressGuard, resolve: Resolve, enter: PostOptions['enter']): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0);
      const [first] = addresses;
      // One private address is enough to reject, because the system selects the address.
      if (first === undefined || addresses.some(({ address }) => !guard.allows(address))) {
        return callback(createRejection(), '', 0);
      }
      if (enter?.(toNetwork(first.address)) === false) return callback(new BusyAddress(), '', 0);
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

const createRejection = () => new Error('the target is not on the public internet, and not in `allow` of the channel');

/** A resolver with the interface of `dns.lookup`, for all addresses of a name. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Options of a resolver of untrusted names. */
interface NameResolverOptions {
  /** Ends the resolution. */
  readonly signal: AbortSignal;
  /** Addresses of DNS servers. Default: those of the system. */
  readonly servers?: readonly string[];
}

/** Milliseconds that a DNS server has for the first attempt. The second one has twice the time. */
const TIMEOUT = 1_000;
const TRIES = 2;

/**
 * Creates a resolver of untrusted names.
 *
 * `dns.lookup` runs two lookups of a process at a time, and cannot be cancelled. So names whose DNS server does not
 * respond would delay all other connections of the process. Only names without a dot, which belong to the local
 * network, are resolved that way.
 */
export function createNameResolver({ signal, servers }: NameResolverOptions): Resolve {
  return (hostname, options, callback) => {
    if (!hostname.replace(/\.$/, '').includes('.')) return lookup(hostname, options, callback);
    const resolver = new promises.Resolver({ timeout: TIMEOUT, tries: TRIES });
    if (servers !== undefined) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    void Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]).then(([ipv4, ipv6]) => {
      signal.removeEventListener('abort', cancel);
      const addresses = [...toAddresses(ipv4, 4), ...toAddresses(ipv6, 6)];
      // A name that has addresses of one family only is not an error.
      if (addresses.length === 0 && ipv4.status === 'rejected') callback(ipv4.reason, []);
      else callback(null, addresses);
    });
  };
}

function toAddresses(result: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
}
