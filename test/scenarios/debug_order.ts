import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - the report of a traded order is 200, with its UID and its order: held
 * - its events are created, ready, executing, then traded or filtered: in part. The log has created and traded;
 *   ready is derived from the last auction while the order is open; executing is not recorded
 * - it has a trade: held
 * - its first auction has native prices, proposed solutions and an execution: held in
 *   `test/unit/auctions/current-auction.test.ts`, since this scenario settles without a competition
 * - its first auction has a settlement attempt: not held, since attempts are not recorded
 * - an unknown UID is 404: held
 * - an order without funds has an event `invalid` with the reason `insufficient_balance`, and created has none: held
 */
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
    assert.deepEqual([first.orderUid, first.order.uid], [uid, uid]);
    const labelsOf = ({ events }: { events: { label: string }[] }) => events.map(({ label }) => label);
    assert.deepEqual(labelsOf(first), ['created', 'ready']);
    assert.deepEqual([first.competitionStatus.type, first.trades], ['active', []]);

    await world.approve(trader.address, 'WETH', 0n);
    await book.untilListed(uid, false);
    const filtered = (await book.operator('GET', path)).body;
    assert.equal(filtered.auction.filterReason, 'unfunded');
    assert.deepEqual(
      filtered.events.map(({ label, reason }: { label: string; reason?: string }) => [label, reason]),
      [
        ['created', undefined],
        ['invalid', 'insufficient_balance'],
      ],
    );

    await world.approve(trader.address, 'WETH');
    await world.settle(book, [{ uid }]);
    await book.untilStatus(uid, 'fulfilled');
    const settled = (await book.operator('GET', path)).body;
    assert.equal(settled.trades.length, 1);
    assert.equal(settled.order.status, 'fulfilled');
    assert.deepEqual([labelsOf(settled), settled.isComplete], [['created', 'traded'], true]);
  },
};
