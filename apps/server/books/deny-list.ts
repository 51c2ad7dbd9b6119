import { parseHex } from '#internal';
import { getVersion, readListLines } from './lists.ts';

/** Addresses that are rejected, in lower case. The set changes when the file changes. */
export type DenyList = ReturnType<typeof createDenyList>;

/** Milliseconds between two checks of a file. */
const INTERVAL = 1000;

/**
 * Creates a deny list from a list of addresses, or from a file with an address per line. A `#` begins a comment. A
 * changed file is read again, when two checks have found the same version, since it may be written in place. If it is
 * empty or invalid then, the previous addresses remain and the failure is reported.
 *
 * @throws TypeError with the file and the number of the line that is not an address.
 */
export function createDenyList(
  given: string | readonly string[] = [],
  onFailure: (failure: unknown) => void = () => {},
  interval: number = INTERVAL,
): { readonly addresses: ReadonlySet<string>; close(): void } {
  if (typeof given !== 'string') {
    return { addresses: new Set(given.map((address) => address.toLowerCase())), close() {} };
  }
  // Read before the content, so that a change in between is noticed.
  let version = getVersion(given);
  let seen = version;
  const addresses = new Set(readAddresses(given));
  const reload = () => {
    const current = getVersion(given);
    const isSteady = current === seen;
    seen = current;
    if (current === version || !isSteady) return;
    version = current;
    try {
      const next = readAddresses(given);
      if (next.length === 0 && addresses.size > 0) {
        throw new TypeError(`the deny list ${given} is empty; the previous addresses remain until a restart`);
      }
      addresses.clear();
      for (const address of next) addresses.add(address);
    } catch (failure) {
      onFailure(failure);
    }
  };
  const timer = setInterval(reload, interval).unref();
  return { addresses, close: () => clearInterval(timer) };
}

function readAddresses(file: string): string[] {
  return readListLines(file, 'the deny list').map(({ place, text }) => {
    const address = parseHex(text, 20);
    if (address === undefined) throw new TypeError(`${place} must be 0x and 40 hex digits, got "${text.slice(0, 60)}"`);
    return address;
  });
}
