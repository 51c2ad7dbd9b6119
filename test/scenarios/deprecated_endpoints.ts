import assert from 'node:assert/strict';
import { signCancellation } from '../support/orders.ts';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - the route of one order cancels it with 200, and its status is `cancelled`: held
 */
export const scenario: Scenario = {
  shows: 'one order is cancelled by the older route of a single order',
  isFast: true,
  async run(world) {
    const book = await world.serve();
    const trader = await world.createTrader({ WETH: '1' });
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), sellAmount: '1000', buyAmount: '1' };
    const uid = await book.place(trader, terms);
    const signed = await signCancellation(trader, { orderUid: uid });
    const { status, body } = await book.send('DELETE', `/api/v1/orders/${uid}`, signed);
    assert.deepEqual([status, body], [200, 'Cancelled']);
    await book.untilStatus(uid, 'cancelled');
    assert.equal((await book.get(`/orders/${uid}/status`)).body.type, 'cancelled');
  },
};
