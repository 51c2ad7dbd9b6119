import type { Address, Competition, Hex } from 'intentbook';
import { SOLVER } from './chain-events.ts';

/** One order of a winning solution, with its executed amounts. */
export interface Win {
  readonly order: { readonly uid: Hex; readonly sellToken: Address; readonly buyToken: Address };
  readonly sold: bigint;
  readonly bought: bigint;
}

/** Returns the competition of an auction that `solver` wins with one solution. */
export function wonBy(wins: readonly Win[], auctionId: number, changes: Partial<Competition> = {}): Competition {
  return wonWith([wins], auctionId, changes);
}

/** Returns the competition of an auction that one solver wins with several solutions. */
export function wonWith(
  solutions: readonly (readonly Win[])[],
  auctionId: number,
  changes: Partial<Competition> = {},
  solverAddress: Address = SOLVER,
): Competition {
  return {
    auctionId,
    auctionStartBlock: 1,
    auctionDeadlineBlock: 10,
    transactionHashes: [],
    referenceScores: {},
    auction: { orders: solutions.flat().map(({ order }) => order.uid), prices: {} },
    solutions: solutions.map((wins, i) => ({
      solverAddress,
      score: '1',
      ranking: i + 1,
      clearingPrices: {},
      orders: wins.map(({ order: { uid: id, sellToken, buyToken }, sold, bought }) => {
        return { id, sellAmount: String(sold), buyAmount: String(bought), sellToken, buyToken };
      }),
      isWinner: true,
      filteredOut: false,
      txHash: null,
      referenceScore: '0',
    })),
    ...changes,
  };
}
