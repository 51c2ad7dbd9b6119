import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { readCompetition, readDeadline } from './competition.ts';

/** Number of recent competitions that are searched for solutions in flight. */
const RECENT = 20;

/** Whether the settlement of a winner failed before a block, so that its orders can be offered again. */
export type HasFailed = (auctionId: number, solver: Address, block: number) => boolean;

/**
 * Returns the orders of winning solutions that are in flight: their deadline block has not passed, and their settlement
 * is not indexed. Such an order must not be offered again, since it could be settled twice or revert.
 */
export async function findInFlight(store: Store, hasFailed: HasFailed): Promise<ReadonlySet<Hex>> {
  const [recent, { indexedBlock }] = await Promise.all([store.auctions.competitions(RECENT), store.chain.progress()]);
  const block = indexedBlock?.number ?? 0;
  const orders = new Set<Hex>();
  for (const { auctionId, body } of recent) {
    if (readDeadline(body) <= block) continue;
    const competition = await readCompetition(auctionId, store);
    for (const { isWinner, txHash, orders: bids, solverAddress } of competition?.solutions ?? []) {
      if (isWinner && txHash === null && !hasFailed(auctionId, solverAddress, block))
        for (const { id } of bids) orders.add(id);
    }
  }
  return orders;
}
