import type { SettlementChainEvent } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';

/** The part of a solution that decides which transaction has settled it. */
interface SettledSolution {
  readonly solverAddress: Address;
  readonly isWinner: boolean;
  readonly orders: readonly { readonly id: Hex }[];
}

/** Maximum number of trades of a settlement that are compared. */
const MAX_TRADES = 1000;

/**
 * Finds the transactions of winning solutions. A solver settles its own. If it has several winning solutions or
 * settlements, the traded orders decide.
 */
export async function findTransactions<S extends SettledSolution>(
  solutions: readonly S[],
  settlements: readonly SettlementChainEvent[],
  store: Store,
): Promise<ReadonlyMap<S, Hex>> {
  const found = new Map<S, Hex>();
  const winners = solutions.filter(({ isWinner }) => isWinner);
  for (const winner of winners) {
    const { solverAddress: solver } = winner;
    const own = settlements.filter((settlement) => settlement.solver === solver);
    const isClear = own.length === 1 && winners.filter(({ solverAddress }) => solverAddress === solver).length === 1;
    for (const { transactionHash } of own) {
      if (isClear || (await hasTraded(winner, transactionHash, store))) found.set(winner, transactionHash);
    }
  }
  return found;
}

/** Returns whether a transaction has traded an order of a solution. Orders of winners do not overlap. */
async function hasTraded({ orders }: SettledSolution, transactionHash: Hex, store: Store): Promise<boolean> {
  const trades = await store.chain.trades({ filter: { transactionHash }, limit: MAX_TRADES });
  return orders.some(({ id }) => trades.some(({ uid }) => uid === id));
}
