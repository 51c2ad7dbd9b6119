import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - three orders are open, in the auction, and `active`: held
 * - one is cancelled with 200 and leaves the auction, and the others stay: held
 * - the other two are cancelled together: held
 * - the events of each begin with created, and have cancelled: held
 */
export const scenario: Scenario = {
  shows: 'orders are cancelled one by one and together, and leave the auction',
  isFast: true,
  async run(world) {
    const book = await world.serve();
    const [trader, other] = [await world.createTrader({ WETH: '1' }), await world.createTrader()];
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), buyAmount: '1' };
    const uids = [];
    for (const sellAmount of ['1000', '1001', '1002']) uids.push(await book.place(trader, { ...terms, sellAmount }));
    for (const uid of uids) await book.untilListed(uid);
    const [first = '', second = '', third = ''] = uids;
    assert.equal((await book.get(`/orders/${first}/status`)).body.type, 'active');

    assert.equal((await book.cancel(other, first)).status, 401);
    assert.equal((await book.cancel(trader, first)).status, 200);
    assert.equal((await book.order(first)).status, 'cancelled');
    await book.untilListed(first, false);
    assert.equal((await book.get(`/orders/${first}/status`)).body.type, 'cancelled');
    assert.notEqual(await book.listed(second), undefined);

    assert.equal((await book.cancel(trader, second, third)).status, 200);
    await book.untilListed(second, false);
    assert.deepEqual([(await book.order(second)).status, (await book.order(third)).status], ['cancelled', 'cancelled']);
    for (const uid of uids) {
      const { events } = (await book.operator('GET', `/debug/order/${uid}`)).body;
      const labels = events.map(({ label }: { label: string }) => label);
      assert.deepEqual([labels[0], labels.at(-1)], ['created', 'cancelled']);
    }
  },
};
