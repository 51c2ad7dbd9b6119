import type { OrderPolicy } from '../admission/policy.ts';
import { DeadlineError, type DeadlineLimiter } from '../concurrency/abort.ts';
import type { Address } from '../protocol/hex.ts';
import type { AuctionCandidate } from './auction-order.ts';
import { getParties } from './filters.ts';

/** Returns the deny-listed owners and receivers of candidates. */
export type FindDenied = (candidates: readonly AuctionCandidate[]) => Promise<ReadonlySet<Address>>;

/**
 * Creates the queries to the deny list of the host. Each address is queried once per auction. If a query fails, its
 * previous result is used. After a timeout the remaining addresses are not queried for this auction, since each query
 * could take as long.
 */
export function createFindDenied(
  { isDenied }: Pick<OrderPolicy, 'isDenied'>,
  remote: DeadlineLimiter,
  onFailure: (failure: unknown) => void,
): FindDenied {
  let previous: ReadonlySet<Address> = new Set();
  return async (candidates) => {
    if (isDenied === undefined) return previous;
    const denied = new Set<Address>();
    let isLate = false;
    const query = (address: Address) =>
      remote.run('deny list', (signal) => (isLate ? previous.has(address) : isDenied(address, { signal })));
    const addresses = new Set(candidates.flatMap(({ order }) => getParties(order)));
    await Promise.all(
      [...addresses].map(async (address) => {
        try {
          const result: unknown = await query(address);
          if (typeof result !== 'boolean') throw new TypeError(`isDenied must return a boolean, got ${typeof result}`);
          if (result) denied.add(address);
        } catch (failure) {
          onFailure(failure);
          isLate ||= failure instanceof DeadlineError;
          if (previous.has(address)) denied.add(address);
        }
      }),
    );
    previous = denied;
    return denied;
  };
}
