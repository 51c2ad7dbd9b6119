import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - a transaction is cancelled when its deadline has passed: excluded, a matter of the driver
 * - a quote of equal tokens has an id, and does not depend on the receiver: held
 * - it is verified, and buys less than it sells: held
 * - the order is accepted with and without a quote, and traded: held
 * - wrapped against native currency, as a sale and as a purchase: held in `test/unit/orders`
 * - the solver pays for the hook of such an order: excluded, a matter of the driver
 */
export const scenario: Scenario = {
  shows: 'orders whose tokens are the same are quoted, placed and filled where the policy allows it',
  async run(world) {
    const driver = await world.startDriver();
    const flags = ['--same-token', 'accept', '--prices', 'off', '--quote-drivers', driver, '--verify-quotes'];
    const book = await world.serve(...flags);
    const trader = await world.createTrader({ WETH: '10' });
    const token = world.token('WETH');
    const sell = { kind: 'sell', sellAmountBeforeFee: String(10n ** 18n) };
    const buy = { kind: 'buy', buyAmountAfterFee: String(10n ** 18n) };
    for (const terms of [sell, buy, { ...sell, receiver: world.solver }, { ...buy, receiver: world.solver }]) {
      const { status, body } = await book.post('/quote', {
        sellToken: token,
        buyToken: token,
        from: trader.address,
        ...terms,
      });
      assert.equal(status, 200, JSON.stringify(body));
      const { quote, id, verified } = body;
      assert.ok(Number.isInteger(id) && verified, JSON.stringify(body));
      assert.ok(BigInt(quote.buyAmount) < BigInt(quote.sellAmount) + BigInt(quote.feeAmount), JSON.stringify(body));
    }
    const amounts = { sellAmount: String(10n ** 18n), buyAmount: String(9n * 10n ** 17n) };
    const uid = await book.place(trader, { sellToken: token, buyToken: token, ...amounts });
    await book.untilListed(uid);
    await world.settle(book, [{ uid }]);
    const order = await book.untilStatus(uid, 'fulfilled');
    assert.deepEqual([order.executedSellAmount, order.executedBuyAmount], [amounts.sellAmount, amounts.buyAmount]);
    // The default refuses them.
    const strict = await world.serve();
    await strict.rejects(
      strict.submit(trader, { sellToken: token, buyToken: token, ...amounts }),
      400,
      'SameBuyAndSellToken',
    );
  },
};
