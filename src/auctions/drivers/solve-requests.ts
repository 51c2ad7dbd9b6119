import { concatBytes } from '@noble/hashes/utils.js';
import { type Clock, isRecent, readMonotonic } from '../../ports/clock.ts';
import type { Address } from '../../protocol/hex.ts';
import { formatIsoDate } from '../../records/order-json.ts';
import { createAuctionDelta } from '../auction-delta.ts';
import type { Auction } from '../auction-order.ts';
import { renderWithOrders } from '../render-auction.ts';
import type { SolveRequest, SolverDriver } from './solver-driver.ts';

/** Milliseconds after which a driver receives a complete auction, so that an error in its copy does not last. */
const COMPLETE_AFTER = 120_000;

/** The last auction that a driver has solved, and the time of `readMonotonic` of its last complete one. */
interface Solved {
  readonly auction: Auction;
  readonly completeAt: number;
}

/**
 * Creates the requests of a run. A driver that accepts deltas receives the difference to the auction that it has solved
 * before. A driver that has failed may not have that auction, and receives the next one complete.
 */
export function createSolveRequests(clock: Clock, trustedTokens: readonly Address[]) {
  const solved = new Map<string, Solved>();

  return {
    /** Renders an auction. Drivers that need the same body receive the same bytes. */
    async render(auction: Auction, deadline: number, drivers: readonly SolverDriver[]) {
      const bodies = new Map<Auction | undefined, Promise<Uint8Array>>();
      const requests = drivers.map(async ({ name, acceptsDeltas }) => {
        const last = solved.get(name);
        solved.delete(name);
        const base = last !== undefined && isRecent(clock, last.completeAt, COMPLETE_AFTER) ? last.auction : undefined;
        const known = bodies.get(base) ?? renderBody(auction, base, deadline, trustedTokens);
        bodies.set(base, known);
        const request: SolveRequest = { auction, deadline, body: await known };
        const completeAt = base === undefined ? readMonotonic(clock) : (last?.completeAt ?? 0);
        const onSolved = () => {
          if (acceptsDeltas === true) solved.set(name, { auction, completeAt });
        };
        return { request, onSolved };
      });
      return Promise.all(requests);
    },
    /** Called when another process may have sent auctions. */
    forget: () => solved.clear(),
  };
}

/** Renders the body of `POST /solve`. The id is a text there. */
async function renderBody(
  auction: Auction,
  base: Auction | undefined,
  deadline: number,
  trusted: readonly Address[],
): Promise<Uint8Array> {
  const { id, prices, surplusCapturingJitOrderOwners, orders } = auction;
  const trustedTokens = new Set(trusted);
  // The keys of prices are addresses.
  const addresses = new Set([...(Object.keys(prices) as Address[]), ...trusted]);
  const tokens = [...addresses].map((address) => {
    return { address, price: prices[address] ?? null, trusted: trustedTokens.has(address) };
  });
  const members = { id: String(id), tokens, deadline: formatIsoDate(deadline), surplusCapturingJitOrderOwners };
  if (base === undefined)
    return concatBytes(...(await renderWithOrders({ kind: 'full', ...members }, 'orders', orders)));
  const { removed, added } = createAuctionDelta(base, auction);
  const delta = { kind: 'delta', ...members, removedOrders: removed };
  return concatBytes(...(await renderWithOrders(delta, 'updatedOrders', added)));
}
