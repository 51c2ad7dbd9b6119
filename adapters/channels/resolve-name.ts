import { type LookupAddress, type LookupAllOptions, lookup, promises } from 'node:dns';

/** A resolver with the interface of `dns.lookup`, for all addresses of a name. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Options of a resolver of untrusted names. */
export interface NameResolverOptions {
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
