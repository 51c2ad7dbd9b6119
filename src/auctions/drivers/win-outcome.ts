import type { Store } from '../../ports/store.ts';
import { readTerms } from '../../records/project-order.ts';
import type { Competition, CompetitionSolution } from '../competition.ts';
import type { SolutionId } from '../in-flight.ts';

/**
 * What the chain shows of a solution that has won. `superseded`: trades until the deadline have left too little of one
 * of its orders, so that its settlement would have reverted. They are those of other solvers, and those of its solver
 * for another book that execute the order as promised, or better. It also stands for a settlement of its solver that
 * names no auction, and executes one of its orders as promised.
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
  promised: CompetitionSolution['orders'][number],
  solver: string,
  { auctionStartBlock: start, auctionDeadlineBlock: deadline }: Competition,
  store: Store,
): Promise<boolean> {
  const uid = promised.id;
  const [row] = await store.orders.get([uid]);
  const terms = row && readTerms(row.body);
  if (terms === undefined) return false;
  const getFixed = ({ sellAmount, buyAmount }: Amounts) => BigInt(terms.kind === 'buy' ? buyAmount : sellAmount);
  let executed = 0n;
  for (const trade of await store.chain.trades({ filter: { uid }, limit: TRADES })) {
    const { blockNumber, transactionHash } = trade;
    if (blockNumber > deadline) continue;
    const settlements = await store.chain.settlements(transactionHash);
    const own = settlements.filter((settlement) => settlement.solver === solver);
    const isEarlier = blockNumber <= start;
    // A settlement for another book excuses a solver only if the order gets what the solver has promised.
    const isKept = getFixed(trade) >= getFixed(promised) && isAsGood(trade, promised);
    // No node may have returned the calldata, which has the auction.
    if (!isEarlier && isKept && own.some(({ auctionId }) => auctionId === null)) return true;
    if (own.length === 0 || isEarlier || isKept) executed += getFixed(trade);
  }
  return executed + getFixed(promised) > terms.fixedAmount;
}

interface Amounts {
  readonly sellAmount: string;
  readonly buyAmount: string;
}

/** Returns whether the price of a trade is at least that of another one, for the owner. */
const isAsGood = (trade: Amounts, other: Amounts) =>
  BigInt(trade.buyAmount) * BigInt(other.sellAmount) >= BigInt(other.buyAmount) * BigInt(trade.sellAmount);
