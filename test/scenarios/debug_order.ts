import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - the report of a traded order is 200, with its UID and its order: held
 * - its events are created, ready, executing, then traded or filtered: held
 * - it has a trade: held
 * - its first auction has native prices, proposed solutions, an execution and a settlement attempt: held
 * - an unknown UID is 404: held
 * - an order without funds has an event `invalid` with the reason `insufficient_balance`, and created has none: held
 */
export const scenario: Scenario = {
  shows: 'operators see why an order is not in the auction, its events and its trades',
  async run(world) {
    const book = await world.serve('--drivers', await world.startDriver(), '--solve-time', '3000');
    const trader = await world.createTrader({ WETH: '2' });
    const terms = {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      buyAmount: world.atoms('90000', 'USDC'), // out of reach
    };
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
    const traded = await book.place(trader, {
      ...terms,
      sellAmount: String(10n ** 18n),
      buyAmount: world.atoms('2000', 'USDC'),
    });
    await book.untilStatus(traded, 'fulfilled');
    const settled = (await book.operator('GET', `/debug/order/${traded}`)).body;
    assert.equal(settled.trades.length, 1);
    assert.equal(settled.order.status, 'fulfilled');
    assert.deepEqual([labelsOf(settled), settled.isComplete], [['created', 'ready', 'executing', 'traded'], true]);
    const [auction] = settled.auctions;
    assert.deepEqual(Object.keys(auction.nativePrices).sort(), [terms.sellToken, terms.buyToken].sort());
    assert.deepEqual(
      auction.proposedSolutions.map(({ isWinner }: { isWinner: boolean }) => isWinner),
      [true],
    );
    assert.deepEqual([auction.executions.length, auction.settlementAttempts.length], [1, 1]);
  },
};
