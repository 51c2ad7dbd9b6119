import type { Address, Hex } from 'intentbook';
import { encodeSettle } from '#internal';
import { tradePrices } from './execution.ts';
import type { Solution } from './types.ts';

/**
 * Encodes a solution as the input of `settle`. The pre-hooks of the orders come first, then the interactions, then the
 * post-hooks.
 *
 * @param auctionId - Number of the auction, appended to the input so that it can be attributed.
 * @throws RangeError if a token has no clearing price.
 */
export function encodeSettlement(solution: Solution, auctionId?: number): Hex {
  const { fills, prices, pre = [], interactions, post = [] } = solution;
  const tokens = Object.keys(prices) as Address[]; // by its type
  const clearingPrices = Object.values(prices);
  const trades = fills.map((fill) => {
    const { order, executed } = fill;
    const { owner, signingScheme, signature } = order;
    let [sellIndex, buyIndex] = [tokens.indexOf(order.sellToken), tokens.indexOf(order.buyToken)];
    const { sell, buy } = tradePrices(fill, prices);
    if (sell !== prices[order.sellToken] || buy !== prices[order.buyToken]) {
      // A token that is listed again has a price for this trade alone.
      [sellIndex, buyIndex] = [tokens.length, tokens.length + 1];
      tokens.push(order.sellToken, order.buyToken);
      clearingPrices.push(sell, buy);
    }
    return { order: { ...order, feeAmount: 0n }, owner, signingScheme, signature, executed, sellIndex, buyIndex };
  });
  const hooks = (when: 'preInteractions' | 'postInteractions') => fills.flatMap(({ order }) => order[when]);
  const data = encodeSettle(tokens, clearingPrices, trades, [
    [...hooks('preInteractions'), ...pre],
    interactions,
    [...hooks('postInteractions'), ...post],
  ]);
  return auctionId === undefined ? data : `${data}${auctionId.toString(16).padStart(16, '0')}`;
}
