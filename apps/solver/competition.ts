import type { Address, Competition, CompetitionSolution, Hex } from 'intentbook';
import { getExecution, getScore } from './execution.ts';
import type { Solution, SolvableAuction } from './types.ts';

/** A solution with the transaction that executed it. */
export interface Bid {
  readonly solution: Solution;
  readonly transactionHash: Hex | undefined;
}

/** Blocks after the newest one in which the solutions of an auction may be settled. */
const DEADLINE = 5;

/**
 * Creates the record of a competition in which one solver has placed all bids. Every bid wins.
 *
 * @param head - Number of the newest block when the last settlement was sent, or that of the auction.
 */
export function toCompetition(
  auction: SolvableAuction,
  solver: Address,
  bids: readonly Bid[],
  head: number,
): Competition {
  const scored = bids.map((bid) => ({ ...bid, score: getScore(bid.solution, auction.prices) }));
  scored.sort((a, b) => (a.score < b.score ? -1 : a.score > b.score ? 1 : 0));
  return {
    auctionId: auction.id,
    auctionStartBlock: auction.block,
    auctionDeadlineBlock: Math.max(auction.block, head) + DEADLINE,
    transactionHashes: bids.flatMap(({ transactionHash }) => transactionHash ?? []),
    referenceScores: { [solver]: '0' },
    auction: { orders: auction.orders.map(({ uid }) => uid), prices: auction.prices },
    solutions: scored.map(({ solution, score, transactionHash }, i): CompetitionSolution => {
      const { prices, fills } = solution;
      return {
        solverAddress: solver,
        score: String(score > 0n ? score : 0n),
        ranking: scored.length - i,
        clearingPrices: Object.fromEntries(Object.entries(prices).map(([token, price]) => [token, String(price)])),
        orders: fills.map((fill) => {
          const { sold, bought } = getExecution(fill, prices);
          const { uid: id, sellToken, buyToken } = fill.order;
          return { id, sellAmount: String(sold), buyAmount: String(bought), sellToken, buyToken };
        }),
        isWinner: true,
        filteredOut: false,
        txHash: transactionHash ?? null,
        referenceScore: '0',
      };
    }),
  };
}
