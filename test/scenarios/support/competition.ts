import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import type { Book } from './book.ts';

/**
 * Records a competition in which one solution has won, as an operator does.
 *
 * @param created - Executed orders that the solver has created.
 * @param executed - Executed amounts. Default: all of the order.
 */
export async function recordWinner(
  book: Book,
  uid: Hex,
  solver: Hex,
  deadlineBlock: number,
  created: readonly object[] = [],
  executed?: { readonly sellAmount: string; readonly buyAmount: string },
): Promise<number> {
  const { body: auction } = await book.get('/auction');
  const { sellToken, buyToken, sellAmount, buyAmount } = { ...(await book.order(uid)), ...executed };
  const { status, body } = await book.operator('POST', '/competition', {
    auctionId: auction.id,
    auctionStartBlock: auction.block,
    auctionDeadlineBlock: deadlineBlock,
    transactionHashes: [],
    referenceScores: {},
    auction: { orders: auction.orders.map((order: { uid: Hex }) => order.uid), prices: auction.prices },
    solutions: [
      {
        solverAddress: solver,
        score: '1000',
        ranking: 1,
        clearingPrices: {},
        orders: [{ id: uid, sellAmount, buyAmount, sellToken, buyToken }, ...created],
        isWinner: true,
        filteredOut: false,
        txHash: null,
        referenceScore: null,
      },
    ],
  });
  assert.ok(status < 300, JSON.stringify(body));
  return auction.id;
}
