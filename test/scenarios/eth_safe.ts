import assert from 'node:assert/strict';
import { hashTypedData } from 'viem';
import { ORDER_TYPES } from '../support/orders.ts';
import { createSafe } from './support/safe.ts';
import type { Scenario } from './support/scenario.ts';
import { NATIVE } from './support/world.ts';

/**
 * Assertions of the original:
 * - a Safe that buys native currency receives it: held
 */
export const scenario: Scenario = {
  shows: 'a Safe buys native currency with an order that is filled in parts',
  async run(world) {
    const book = await world.serve();
    const owner = await world.createTrader();
    const safe = await createSafe(world, owner, { DAI: '4000' });
    const order = safe.order({
      sellToken: world.token('DAI'),
      buyToken: NATIVE,
      sellAmount: world.atoms('4000', 'DAI'),
      buyAmount: String(10n ** 18n),
      partiallyFillable: true,
    });
    const { status, body: uid } = await book.post('/orders', await safe.sign(order, hashTypedData, ORDER_TYPES));
    assert.equal(status, 201, JSON.stringify(uid));
    await book.untilListed(uid);
    const before = await world.balance(safe.address, 'ETH');
    for (const part of [1n, 3n]) {
      await world.settle(book, [{ uid, sold: (BigInt(order.sellAmount) * part) / 4n }]);
    }
    const { executedBuyAmount, owner: stored } = await book.untilStatus(uid, 'fulfilled');
    assert.equal(stored, safe.address);
    assert.equal((await world.balance(safe.address, 'ETH')) - before, BigInt(executedBuyAmount));
    assert.equal((await book.get(`/trades?orderUid=${uid}`)).body.length, 2);
  },
};
