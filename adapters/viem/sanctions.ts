import type { Address, PolicyContext } from 'intentbook';
import { assertKnownOptions, encodeCall, parseAddress, requireFunction, word } from '#internal';
import { boundedCalls } from './bounded-calls.ts';
import { type RpcClient, requireClient } from './rpc.ts';

/** Options of a sanctions oracle. */
export interface SanctionsOracleOptions {
  /** Seconds for which the result of an address is cached. Default: 600. */
  readonly cacheTtl?: number;
  /** Returns the time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Gas limit of a query. */
const GAS = 500_000;

/**
 * Maximum number of cached addresses. A result that does not fit is not cached. If the oldest were dropped instead, an
 * auction with more parties would find none of them in the cache, because it queries them in the same order each time.
 */
const MAX_CACHED = 100_000;

/**
 * Creates the option `isDenied` of a book from a sanctions oracle: a contract with `isSanctioned(address)` that returns
 * a boolean. The function rejects if the contract does not exist or returns another value; then the order is rejected
 * with `InternalServerError`.
 *
 * @throws TypeError if `contract` is not an address, or if an option is malformed.
 */
export function sanctionsOracle(
  client: RpcClient,
  contract: string,
  options: SanctionsOracleOptions = {},
): (address: Address, call: PolicyContext) => Promise<boolean> {
  requireClient('sanctionsOracle', client);
  assertKnownOptions('sanctionsOracle', options, ['cacheTtl', 'now']);
  const { cacheTtl = 600, now = Date.now } = options;
  const to = parseAddress('sanctionsOracle', 'contract', contract);
  requireFunction('sanctionsOracle: now', now);
  if (!Number.isFinite(cacheTtl) || cacheTtl < 0) {
    throw new TypeError(`sanctionsOracle: cacheTtl must be a number of seconds from 0 up, got ${cacheTtl}`);
  }
  const cache = new Map<Address, { readonly denied: boolean; readonly at: number }>();

  function isFresh(at: number): boolean {
    const age = now() - at;
    return age >= 0 && age < cacheTtl * 1000; // negative if the clock was set back
  }

  /** The oldest results are at the front. */
  function dropExpired(): void {
    for (const [address, { at }] of cache) {
      if (isFresh(at)) break;
      cache.delete(address);
    }
  }

  return async (address, { signal }) => {
    const known = cache.get(address);
    if (known !== undefined && isFresh(known.at)) return known.denied;
    const data = encodeCall(SELECTOR, [word(address)]);
    const [result] = await boundedCalls(client, [{ to, data, gas: GAS }], signal);
    const value = result?.success && result.size >= 32 ? BigInt(result.word) : undefined;
    if (value !== 0n && value !== 1n) throw new TypeError(`the sanctions oracle ${to} returned no boolean`);
    cache.delete(address);
    dropExpired();
    if (cache.size < MAX_CACHED) cache.set(address, { denied: value === 1n, at: now() });
    return value === 1n;
  };
}

const SELECTOR = '0xdf592f7d';
