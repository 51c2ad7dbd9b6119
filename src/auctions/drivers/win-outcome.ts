import type { Store } from '../../ports/store.ts';
import { readTerms } from '../../records/project-order.ts';
import type { Competition, CompetitionSolution } from '../competition.ts';
import type { SolutionId } from '../in-flight.ts';

/**
 * What the chain shows of a solution that has won. `superseded`: trades of other solvers until the deadline have left
 * too little of one of its orders, so that its settlement would have reverted.
 */
export type WinOutcome = 'settled' | 'superseded' | 'unsettled';

/** Trades of an order that are read. */
const TRADES = 1000;

/** Returns what the indexed blocks show of a solution. */
export async function findOutcome(
  competition: Competition | undefined,
  { ranking }: SolutionId,
  store: Store,
): Promise<WinOutcome> {
  const solution = competition?.solutions.find((each) => each.ranking === ranking);
  if (competition === undefined || solution === undefined) return 'unsettled';
  if (solution.txHash !== null) return 'settled';
  for (const order of solution.orders)
    if (await isSuperseded(order, solution.solverAddress, competition, store)) return 'superseded';
  return 'unsettled';
}

async function isSuperseded(
  { id: uid, sellAmount, buyAmount }: CompetitionSolution['orders'][number],
  solver: string,
  { auctionStartBlock: start, auctionDeadlineBlock: deadline }: Competition,
  store: Store,
): Promise<boolean> {
  const [row] = await store.orders.get([uid]);
  const terms = row && readTerms(row.body);
  if (terms === undefined) return false;
  const getFixed = (trade: { readonly sellAmount: string; readonly buyAmount: string }) =>
    BigInt(terms.kind === 'buy' ? trade.buyAmount : trade.sellAmount);
  let executed = 0n;
  for (const trade of await store.chain.trades({ filter: { uid }, limit: TRADES })) {
    const { blockNumber, transactionHash } = trade;
    if (blockNumber > deadline) continue;
    // A solver that settles late must not be excused by its own settlements.
    const isOwn = (await store.chain.settlements(transactionHash)).some((settlement) => settlement.solver === solver);
    if (!isOwn || blockNumber <= start) executed += getFixed(trade);
  }
  return executed + getFixed({ sellAmount, buyAmount }) > terms.fixedAmount;
}
