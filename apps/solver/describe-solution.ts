import type { Address } from 'intentbook';
import { getExecution, getScore } from './execution.ts';
import type { Solution, SolvableAuction } from './types.ts';

/** Sorts solutions, the best one first. */
export function sortByScore(solutions: readonly Solution[], prices: SolvableAuction['prices']): readonly Solution[] {
  const scored = solutions.map((solution) => ({ solution, score: getScore(solution, prices) }));
  return scored.sort((a, b) => (a.score > b.score ? -1 : a.score < b.score ? 1 : 0)).map(({ solution }) => solution);
}

/** Renders a solution in the format of production. */
export function describeSolution(
  solution: Solution,
  solutionId: number,
  submissionAddress: Address,
  prices: SolvableAuction['prices'],
): object {
  return {
    solutionId,
    score: String(getScore(solution, prices)),
    submissionAddress,
    orders: Object.fromEntries(
      solution.fills.map((fill) => {
        const { uid, kind: side, sellToken, buyToken, sellAmount: limitSell, buyAmount: limitBuy } = fill.order;
        const { sold, bought } = getExecution(fill, solution.prices);
        const executed = { executedSell: String(sold), executedBuy: String(bought) };
        return [uid, { side, sellToken, limitSell, buyToken, limitBuy, ...executed }];
      }),
    ),
    clearingPrices: formatPrices(solution.prices),
  };
}

/** Renders prices as decimal texts. */
export function formatPrices(prices: Solution['prices']): Record<string, string> {
  return Object.fromEntries(Object.entries(prices).map(([token, price]) => [token, String(price)]));
}
