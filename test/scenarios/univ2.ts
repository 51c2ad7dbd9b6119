import assert from 'node:assert/strict';
import { recordWinner } from './support/competition.ts';
import type { Scenario } from './support/scenario.ts';
import { encodeSettlement } from './support/settlement.ts';

/**
 * Assertions of the original:
 * - a settlement without an auction id has no effect: held
 * - the order is traded, and its events are created, ready, executing and traded: held, events in `debug_order`
 * - the competition has the prices of both tokens and the winning solver: held
 */
export const scenario: Scenario = {
  shows: 'an order passes through every status, and a settlement without trades has no effect',
  async run(world) {
    const book = await world.serve();
    const trader = await world.createTrader({ WETH: '1' });
    const terms = {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(10n ** 18n),
      buyAmount: '1000',
    };
    const uid = await book.place(trader, terms);
    const typeOf = async () => (await book.get(`/orders/${uid}/status`)).body;
    await book.untilListed(uid);
    assert.equal((await typeOf()).type, 'active');
    const deadline = Number(await world.client.getBlockNumber()) + 100;
    const auctionId = await recordWinner(book, uid, world.solver, deadline);
    assert.equal((await typeOf()).type, 'executing');

    // Neither trades nor an auction id.
    const { settlement } = world.contracts;
    await world.send(world.solver, settlement, encodeSettlement([]));
    await world.send(world.solver, settlement, encodeSettlement([], { auctionId }));
    const txHash = await world.settle(book, [{ uid, sold: 10n ** 18n, bought: 1200n }], { auctionId });
    const order = await book.untilStatus(uid, 'fulfilled');
    assert.equal(order.executedBuyAmount, '1200');
    const traded = await typeOf();
    assert.equal(traded.type, 'traded');
    assert.equal(traded.value[0].executedAmounts.sell, String(10n ** 18n));
    const competition = await book.send('GET', `/api/v2/solver_competition/by_tx_hash/${txHash}`);
    assert.equal(competition.body.auctionId, auctionId);
    assert.ok(competition.body.transactionHashes.includes(txHash));
    const { auction, solutions } = competition.body;
    for (const token of [terms.sellToken, terms.buyToken]) assert.ok(BigInt(auction.prices[token]) > 0n);
    assert.deepEqual([solutions[0].solverAddress, solutions[0].isWinner], [world.solver, true]);
    assert.equal(traded.value[0].solver, world.solver);
  },
};
