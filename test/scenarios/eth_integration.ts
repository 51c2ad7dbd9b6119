import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';
import { NATIVE } from './support/world.ts';

/**
 * Assertions of the original:
 * - a quote that sells native currency is 400: held
 * - a sale and a purchase of native currency are traded, and the receiver has it: held
 */
export const scenario: Scenario = {
  shows: 'native currency is quoted and bought, and cannot be sold by a signed order',
  async run(world) {
    const book = await world.serve('--drivers', await world.startDriver());
    const trader = await world.createTrader({ USDC: '10000' });
    const sellToken = world.token('USDC');
    const request = { sellToken, buyToken: NATIVE, from: trader.address };
    const sale = await book.post('/quote', {
      ...request,
      kind: 'sell',
      sellAmountBeforeFee: world.atoms('2500', 'USDC'),
    });
    const buy = await book.post('/quote', { ...request, kind: 'buy', buyAmountAfterFee: String(10n ** 18n) });
    assert.deepEqual([sale.status, buy.status], [200, 200], JSON.stringify([sale.body, buy.body]));
    assert.equal(sale.body.quote.buyToken, NATIVE);

    const sellAmount = world.atoms('2500', 'USDC');
    const buyAmount = String(9n * 10n ** 17n);
    for (const kind of ['sell', 'buy'] as const) {
      const before = await world.balance(trader.address, 'ETH');
      const uid = await book.place(trader, { sellToken, buyToken: NATIVE, kind, sellAmount, buyAmount });
      const { executedBuyAmount } = await book.untilStatus(uid, 'fulfilled');
      assert.equal((await world.balance(trader.address, 'ETH')) - before, BigInt(executedBuyAmount));
      assert.ok(kind === 'sell' || executedBuyAmount === buyAmount);
    }

    const sell = { sellToken: NATIVE, buyToken: sellToken, sellAmount: '1000', buyAmount: '1' };
    await book.rejects(book.submit(trader, sell), 400, 'InvalidNativeSellToken');
    await book.rejects(
      book.post('/quote', { ...sell, from: trader.address, kind: 'sell', sellAmountBeforeFee: '1000' }),
      400,
      'InvalidNativeSellToken',
    );
  },
};
