import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - the quote has an id and is verified: held
 * - the stored quote of the order has the same `verified` and `metadata`: held
 * - equal tokens are `SameBuyAndSellToken` in quotes and orders: held
 * - prices stay available while the first source of prices fails: held
 */
export const scenario: Scenario = {
  shows: 'an order is linked with the verified quote that it names, and prices survive a source that fails',
  async run(world) {
    const failing = await world.listen(async () => new Response('down', { status: 500 }));
    const book = await world.serve('--verify-quotes', '--quote-drivers', `${failing},${await world.startDriver()}`);
    const trader = await world.createTrader({ WETH: '10' });
    const [sellToken, buyToken] = [world.token('WETH'), world.token('USDC')];
    const request = {
      sellToken,
      buyToken,
      from: trader.address,
      kind: 'sell',
      sellAmountBeforeFee: String(10n ** 18n),
    };
    const { status, body } = await book.post('/quote', request);
    assert.equal(status, 200, JSON.stringify(body));
    const { quote, id, verified } = body;
    assert.equal(verified, true);
    const { sellAmount, feeAmount, buyAmount } = quote;
    const total = String(BigInt(sellAmount) + BigInt(feeAmount));
    const uid = await book.place(trader, { sellToken, buyToken, sellAmount: total, buyAmount, quoteId: id });
    const linked = (await book.get(`/orders/${uid}`)).body.quote;
    // The order has the amounts of the estimate, before the fee.
    assert.deepEqual([linked.sellAmount, linked.verified], [total, true]);
    assert.equal(linked.metadata, undefined); // as in production, while the order can be filled
    assert.equal(linked.solver, world.solver);
    assert.ok(BigInt(linked.buyAmount) > BigInt(buyAmount));
    await world.settle(book, [{ uid }]);
    await book.untilStatus(uid, 'fulfilled');
    const { metadata } = (await book.get(`/orders/${uid}`)).body.quote;
    assert.ok(metadata.interactions.length > 0, JSON.stringify(metadata));

    await book.rejects(book.post('/quote', { ...request, buyToken: sellToken }), 400, 'SameBuyAndSellToken');
    await book.rejects(
      book.submit(trader, { sellToken, buyToken: sellToken, sellAmount: '1000', buyAmount: '1' }),
      400,
      'SameBuyAndSellToken',
    );
    const price = await book.get(`/token/${buyToken}/native_price`);
    assert.equal(price.status, 200);
    assert.ok(price.body.price > 0);
  },
};
