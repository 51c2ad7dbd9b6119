import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - the order has the class `limit` and is partially fillable: held
 * - it is filled as far as the pool allows: held
 */
export const scenario: Scenario = {
  shows: 'an order is filled in several parts while the price of the pool recovers',
  async run(world) {
    const book = await world.serve('--drivers', await world.startDriver());
    const trader = await world.createTrader({ WETH: '3000' });
    const uid = await book.place(trader, {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: world.atoms('3000', 'WETH'),
      buyAmount: world.atoms('6600000', 'USDC'),
      partiallyFillable: true,
    });
    const placed = (await book.get(`/orders/${uid}`)).body;
    assert.deepEqual([placed.class, placed.partiallyFillable], ['limit', true]);
    let executed = 0n;
    for (let part = 0; part < 2; part++) {
      const grown = ({ executedSellAmount }: { executedSellAmount: string }) => BigInt(executedSellAmount) > executed;
      const order = await book.until(`/orders/${uid}`, grown);
      executed = BigInt(order.executedSellAmount);
      assert.equal(order.status, 'open');
      await world.setPrice('USDC', '0.0004');
      await world.mine();
    }
    const { body: trades } = await book.get(`/trades?orderUid=${uid}`);
    assert.ok(trades.length >= 2);
    const sold = trades.reduce((sum: bigint, { sellAmount }: { sellAmount: string }) => sum + BigInt(sellAmount), 0n);
    assert.ok(sold <= BigInt(world.atoms('3000', 'WETH')));
  },
};
