import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { type CompetitionSummary, pendingCompetitions } from './competition.ts';

/** A solution of a recorded competition. Each has another rank. */
export interface SolutionId {
  readonly auctionId: number;
  readonly solverAddress: Address;
  readonly ranking: number;
}

/** Formats the identity of a solution as a map key. */
export const formatSolutionId = ({ auctionId, solverAddress, ranking }: SolutionId): string =>
  `${auctionId} ${solverAddress} ${ranking}`;

/** Whether the settlement of a winner has failed before a block, so that its orders can be offered again. */
export type HasFailed = (solution: SolutionId, block: number) => boolean;

/**
 * Returns the orders of winning solutions that are in flight: their deadline block has not passed, and their settlement
 * is not indexed. Such an order must not be offered again, since it could be settled twice or revert.
 */
export async function findInFlight(store: Store, hasFailed: HasFailed): Promise<ReadonlySet<Hex>> {
  const { indexedBlock } = await store.chain.progress();
  const block = indexedBlock?.number ?? 0;
  const pending = await pendingCompetitions(block, store);
  return new Set(pending.flatMap((each) => [...listInFlight(each, block, hasFailed)]));
}

/** Returns the orders of a competition that are in flight at a block. Its deadline block has not passed. */
export function listInFlight(
  { auctionId, solutions }: Pick<CompetitionSummary, 'auctionId' | 'solutions'>,
  block: number,
  hasFailed: HasFailed,
): ReadonlySet<Hex> {
  const inFlight = solutions.filter(({ isWinner, txHash, solverAddress, ranking }) => {
    return isWinner && txHash === null && !hasFailed({ auctionId, solverAddress, ranking }, block);
  });
  return new Set(inFlight.flatMap(({ orders }) => orders.map(({ id }) => id)));
}
