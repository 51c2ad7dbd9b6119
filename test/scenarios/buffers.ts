import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - an order is traded with the balance of the settlement contract: held
 * - that balance is used up: held, since the scenario provides what the order receives
 * - the same order is traded with other liquidity afterwards: held, as a second order of the same terms
 */
export const scenario: Scenario = {
  shows: 'orders are settled from balances of the settlement contract without any other trade',
  async run(world) {
    const book = await world.serve();
    const trader = await world.createTrader({ WETH: '10' });
    for (const sellAmount of ['1000000', '2000000']) {
      const terms = { sellToken: world.token('WETH'), buyToken: world.token('COW'), sellAmount, buyAmount: '9000' };
      const uid = await book.place(trader, terms);
      await book.untilListed(uid);
      const txHash = await world.settle(book, [{ uid, bought: 9500n, sold: BigInt(sellAmount) }]);
      const order = await book.untilStatus(uid, 'fulfilled');
      assert.deepEqual([order.executedSellAmount, order.executedBuyAmount], [sellAmount, '9500']);
      const [trade] = (await book.get(`/trades?orderUid=${uid}`)).body;
      assert.equal(trade.txHash, txHash);
    }
    assert.equal(await world.balance(trader.address, 'COW'), 19_000n);
  },
};
