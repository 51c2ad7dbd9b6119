import type { Address, PolicyContext } from 'intentbook';
import { assertKnownOptions, parseAddress } from '#internal';
import { boundedCalls } from './bounded-calls.ts';
import type { RpcClient } from './rpc.ts';
import { requireClient } from './rpc.ts';

/** Options of a sanctions oracle. */
export interface SanctionsOracleOptions {
  /** Seconds for which the result of an address is cached. Default: 600. */
  readonly cacheTtl?: number;
  /** Returns the time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Gas limit of a query. */
const GAS = 500_000;

/** Maximum number of cached addresses; the oldest are dropped first. */
const MAX_CACHED = 10_000;

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
  if (!Number.isFinite(cacheTtl) || cacheTtl < 0) {
    throw new TypeError(`sanctionsOracle: cacheTtl must be a number of seconds from 0 up, got ${cacheTtl}`);
  }
  const cache = new Map<Address, { readonly denied: boolean; readonly at: number }>();

  return async (address, { signal }) => {
    const known = cache.get(address);
    const age = known === undefined ? -1 : now() - known.at;
    // The age is negative if the clock was set back.
    if (known !== undefined && age >= 0 && age < cacheTtl * 1000) return known.denied;
    const data = `${SELECTOR}${address.slice(2).padStart(64, '0')}` as const;
    const [result] = await boundedCalls(client, [{ to, data, gas: GAS }], signal);
    const value = result?.success && result.size >= 32 ? BigInt(result.word) : undefined;
    if (value !== 0n && value !== 1n) throw new TypeError(`the sanctions oracle ${to} returned no boolean`);
    cache.delete(address);
    cache.set(address, { denied: value === 1n, at: now() });
    const [oldest] = cache.keys();
    if (cache.size > MAX_CACHED && oldest !== undefined) cache.delete(oldest);
    return value === 1n;
  };
}

/** Selector of `isSanctioned(address)`. */
const SELECTOR = '0xdf592f7d';
