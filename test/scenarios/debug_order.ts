import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

export const scenario: Scenario = {
  shows: 'operators see why an order is not in the auction, its events and its trades',
  async run(world) {
    const book = await world.serve();
    const trader = await world.createTrader({ WETH: '1' });
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), buyAmount: '1' };
    const uid = await book.place(trader, { ...terms, sellAmount: String(10n ** 18n) });
    await book.untilListed(uid);
    const path = `/debug/order/${uid}`;
    assert.equal((await book.send('GET', `/restricted/api/v1${path}`)).status, 403);
    assert.equal((await book.operator('GET', `/debug/order/0x${'00'.repeat(56)}`)).status, 404);
    const first = (await book.operator('GET', path)).body;
    assert.equal(first.order.uid, uid);
    assert.deepEqual([first.competitionStatus.type, first.trades], ['active', []]);

    await world.approve(trader.address, 'WETH', 0n);
    await book.untilListed(uid, false);
    const filtered = (await book.operator('GET', path)).body;
    assert.equal(filtered.auction.filterReason, 'unfunded');

    await world.approve(trader.address, 'WETH');
    await world.settle(book, [{ uid }]);
    await book.untilStatus(uid, 'fulfilled');
    const settled = (await book.operator('GET', path)).body;
    assert.equal(settled.trades.length, 1);
    assert.equal(settled.order.status, 'fulfilled');
    const types = settled.events.map(({ type }: { type: string }) => type);
    assert.ok(types.length >= 2 && settled.isComplete, JSON.stringify(types));
  },
};
