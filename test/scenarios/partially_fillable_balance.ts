import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - the order has the class `limit` and is partially fillable: held
 * - it is filled as far as the balance goes, at its limit price or better: held
 */
export const scenario: Scenario = {
  shows: 'an order is filled as far as the balance of its owner goes',
  async run(world) {
    const book = await world.serve('--drivers', await world.startDriver());
    const trader = await world.createTrader({ DAI: '100' });
    const uid = await book.place(trader, {
      sellToken: world.token('DAI'),
      buyToken: world.token('USDC'),
      sellAmount: world.atoms('200', 'DAI'),
      buyAmount: world.atoms('150', 'USDC'),
      partiallyFillable: true,
    });
    const placed = (await book.get(`/orders/${uid}`)).body;
    assert.deepEqual([placed.class, placed.partiallyFillable], ['limit', true]);
    const half = world.atoms('100', 'DAI');
    const order = await book.until(`/orders/${uid}`, ({ executedSellAmount }) => executedSellAmount === half);
    assert.equal(order.status, 'open');
    assert.ok((await world.balance(trader.address, 'USDC')) >= BigInt(world.atoms('75', 'USDC')));
    assert.equal(await world.balance(trader.address, 'DAI'), 0n);
    await world.fund(trader.address, { DAI: '100' });
    await book.untilStatus(uid, 'fulfilled');
  },
};
